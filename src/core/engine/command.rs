//! What somebody asks of an order, decided and committed in one transaction. The lease of the task that
//! comes of it is in the asking request's hand from the first moment.

use super::run::{CommittedCall, Run};
use super::{Engine, enter};
use crate::core::domain::ids::{LeaseToken, OrderId, TaskId};
use crate::core::domain::order::OrderStatus;
use crate::core::payment::OrderAggregate;
use crate::core::payment::context::{DecisionContext, RunHistory};
use crate::core::payment::effect::ProviderCall;
use crate::core::ports::events::Event;
use crate::core::ports::order_repository::{LoadOptions, Scope, SideWrites, decide};
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::trace::TraceParent;
use std::sync::Arc;
use tokio::time::Instant;

/// The names that a command's task gets if it makes one: made beforehand, so that a decision that has to
/// run twice does one thing.
#[derive(Debug, Clone, Copy)]
pub struct NewTask {
    /// Its name, if there will be one.
    pub id: TaskId,
    /// The lease that the asking request holds.
    pub token: LeaseToken,
    /// No later than its lease begins.
    pub since: Instant,
}

impl NewTask {
    /// Its first run, which begins with the call that was committed with it; nobody waits for it yet.
    #[must_use]
    pub fn run(self, order_id: OrderId, call: ProviderCall, trace: Option<TraceParent>) -> Run {
        Run {
            order_id,
            task_id: self.id,
            token: self.token,
            first: Some(CommittedCall { call, since: self.since }),
            history: RunHistory::default(),
            trace,
            client: None,
        }
    }
}

/// What a command's decision answered, and what it did to the order.
#[derive(Debug)]
pub struct Commanded<T> {
    /// What the decision said.
    pub answer: T,
    /// The order's status before it.
    pub from: OrderStatus,
    /// And after it.
    pub to: OrderStatus,
}

impl Engine {
    /// Names for the task of one command.
    #[must_use]
    pub fn new_task(&self) -> NewTask {
        let id = TaskId::new(self.entropy.bits());
        let token = LeaseToken::new(self.entropy.bits());
        NewTask { id, token, since: Instant::now() }
    }

    /// Decides on a command. `None` when there is no such order in the scope.
    ///
    /// # Errors
    /// The storage did not commit; nothing of the decision holds.
    pub(in crate::core) async fn command<T: Send + 'static>(
        &self,
        order: OrderId,
        scope: Scope,
        task: NewTask,
        load: LoadOptions,
        mut decision: impl FnMut(&mut OrderAggregate, &DecisionContext) -> (T, SideWrites)
        + Send
        + 'static,
    ) -> Result<Option<Commanded<T>>, StorageError> {
        let mut context = self.context(task.id, task.token, RunHistory::default());
        let entropy = Arc::clone(&self.entropy);
        let in_transaction = move |aggregate: &mut OrderAggregate, tx: &_| {
            if !scope.allows(aggregate.order.customer_id.as_ref()) {
                return (None, SideWrites::default());
            }
            enter(&mut context, tx, entropy.as_ref());
            context.client_waits = true;
            let from = aggregate.order.status;
            let (answer, writes) = decision(aggregate, &context);
            (Some(Commanded { answer, from, to: aggregate.order.status }), writes)
        };
        let commanded = decide(self.orders.as_ref(), order, load, in_transaction).await?.flatten();
        if let Some(Commanded { from, to, .. }) = commanded
            && from != to
        {
            self.events.record(&Event::OrderMoved { from, to });
        }
        Ok(commanded)
    }
}
