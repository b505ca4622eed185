//! Bugs around the storage: decisions that see or leave something else than they should.

use super::Mutant;
use crate::simulation::world::World;
use order_service::core::domain::ids::{OrderId, TaskId};
use order_service::core::domain::order::{Order, OrderStatus};
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::registration::{Ending, RegistrationState};
use order_service::core::payment::task::{TaskKind, TaskState};
use order_service::core::ports::idempotency::IdempotentRequest;
use order_service::core::ports::order_repository::{
    Decide, LoadOptions, OrderRepository, Placed, Scope, SideWrites, TxContext,
};
use order_service::core::ports::storage_error::StorageError;
use order_service::core::ports::task_queue::{
    ClaimRequest, Claimed, TaskQuery, TaskQueue, TaskView,
};
use std::sync::Arc;

/// The storage with its bug, if it has one.
#[derive(Debug)]
pub struct Mutation(Option<Mutant>);

impl Mutation {
    pub fn new(mutant: Option<Mutant>) -> Self {
        Self(mutant)
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.0 == Some(mutant)
    }

    pub async fn place_once(
        &self,
        world: &Arc<World>,
        order: Order,
        request: IdempotentRequest,
    ) -> Result<Placed, StorageError> {
        if self.is(Mutant::CommitNotAwaited) {
            let (store, told) = (Arc::clone(&world.store), order.clone());
            // In one of four runs the process is gone before the write happens.
            if !order.id.uuid().as_u128().is_multiple_of(4) {
                store.place_once(order, request).await?;
            }
            return Ok(Placed::New(told));
        }
        world.store.place_once(order, request).await
    }

    pub async fn change(
        &self,
        world: &World,
        id: OrderId,
        options: LoadOptions,
        mut decide: Decide,
    ) -> Result<bool, StorageError> {
        let mutant = self.0;
        let wrong: Decide =
            Box::new(move |aggregate: &mut OrderAggregate, context: &TxContext| match mutant {
                Some(Mutant::CallbackBelieved) => believing(aggregate, context, &mut decide),
                Some(Mutant::ConfirmTwice) => confirming_twice(aggregate, context, &mut decide),
                Some(Mutant::PollForgotten) => forgetting(aggregate, context, &mut decide),
                Some(Mutant::RefusedRepeatIsDead) => burying(aggregate, context, &mut decide),
                Some(Mutant::FormAfterCancel) => handing_out(aggregate, context, &mut decide),
                Some(
                    Mutant::FailoverAfterTimeout
                    | Mutant::ResendBeforeGrace
                    | Mutant::NotFoundIsDead
                    | Mutant::FreshNumberEachTime
                    | Mutant::DeclineBelieved
                    | Mutant::AmountNotCompared
                    | Mutant::FinalAnswerDerived
                    | Mutant::CommitNotAwaited
                    | Mutant::RefundRepeated
                    | Mutant::LeaseIgnored
                    | Mutant::QueueUnbounded,
                )
                | None => decide(aggregate, context),
            });
        world.store.change(id, options, wrong).await
    }

    pub async fn task(
        &self,
        world: &World,
        id: TaskId,
        scope: &Scope,
    ) -> Result<Option<TaskView>, StorageError> {
        let mut view = world.store.task(id, scope).await?;
        if self.is(Mutant::FinalAnswerDerived)
            && let Some(view) = &mut view
            && view.task.kind == TaskKind::RegisterPayment
            && view.task.state.is_final()
            && let Some(aggregate) = world.store.aggregate(view.task.order_id, scope).await?
        {
            view.task.state = match aggregate.order.status {
                OrderStatus::AwaitingPayment | OrderStatus::Paid | OrderStatus::Refunded => {
                    TaskState::Succeeded
                }
                OrderStatus::Cancelled => TaskState::Cancelled,
                OrderStatus::New | OrderStatus::Registering | OrderStatus::PaymentFailed => {
                    TaskState::Failed
                }
            };
        }
        Ok(view)
    }

    pub async fn claim(
        &self,
        world: &World,
        request: &ClaimRequest,
    ) -> Result<Vec<Claimed>, StorageError> {
        if self.is(Mutant::LeaseIgnored) {
            let running =
                TaskQuery { state: Some(TaskState::Running), limit: 10, ..TaskQuery::default() };
            for task in world.store.tasks(&running).await? {
                let run_out: Decide =
                    Box::new(move |aggregate: &mut OrderAggregate, context: &TxContext| {
                        let held =
                            aggregate.tasks.iter_mut().filter_map(|task| task.lease.as_mut());
                        held.for_each(|lease| lease.until = lease.until.min(context.now));
                        SideWrites::default()
                    });
                world.store.change(task.order_id, LoadOptions::Aggregate, run_out).await?;
            }
        }
        world.store.claim(request).await
    }
}

fn believing(
    aggregate: &mut OrderAggregate,
    context: &TxContext,
    decide: &mut Decide,
) -> SideWrites {
    let before: Vec<bool> = aggregate.registrations.iter().map(|r| r.sync_requested()).collect();
    let writes = decide(aggregate, context);
    let mut sync_requested = false;
    for (was, registration) in before.iter().zip(&mut aggregate.registrations) {
        if registration.sync_requested() && !was && registration.state == RegistrationState::Live {
            registration.state = RegistrationState::Paid;
            sync_requested = true;
        }
    }
    if sync_requested {
        aggregate.order.status = OrderStatus::Paid;
    }
    writes
}

/// What a check outside the transaction does: the confirm sees the order as it was before.
fn confirming_twice(
    aggregate: &mut OrderAggregate,
    context: &TxContext,
    decide: &mut Decide,
) -> SideWrites {
    let mut trial = aggregate.clone();
    let writes = decide(&mut trial, context);
    if trial != *aggregate || aggregate.order.status != OrderStatus::Registering {
        *aggregate = trial;
        return writes;
    }
    let mut masked = aggregate.clone();
    masked.order.status = OrderStatus::New;
    for registration in &mut masked.registrations {
        if registration.state.maybe_alive() {
            registration.state = RegistrationState::Dead;
            registration.ending = Some(Ending::Expired);
        }
    }
    for task in &mut masked.tasks {
        if task.kind == TaskKind::RegisterPayment {
            task.state = TaskState::Cancelled;
            task.lease = None;
        }
    }
    let writes = decide(&mut masked, context);
    if masked.registrations.len() > aggregate.registrations.len() {
        *aggregate = masked;
    }
    writes
}

fn forgetting(
    aggregate: &mut OrderAggregate,
    context: &TxContext,
    decide: &mut Decide,
) -> SideWrites {
    let known: Vec<TaskId> = aggregate.tasks.iter().map(|task| task.id).collect();
    let writes = decide(aggregate, context);
    let sync_requested =
        aggregate.registrations.iter().any(|registration| registration.sync_requested());
    aggregate.tasks.retain(|task| {
        sync_requested || task.kind != TaskKind::SyncPayment || known.contains(&task.id)
    });
    writes
}

fn handing_out(
    aggregate: &mut OrderAggregate,
    context: &TxContext,
    decide: &mut Decide,
) -> SideWrites {
    let writes = decide(aggregate, context);
    for registration in &mut aggregate.registrations {
        registration.given_up_at = None;
    }
    writes
}

fn burying(aggregate: &mut OrderAggregate, context: &TxContext, decide: &mut Decide) -> SideWrites {
    let writes = decide(aggregate, context);
    for registration in &mut aggregate.registrations {
        if registration.evidence == "refused_again" {
            registration.state = RegistrationState::Dead;
            registration.ending = Some(Ending::Refused);
        }
    }
    writes
}
