//! Keeping what a callback tells, and asking the provider about it: both in one transaction.

use super::{ReceiveCallback, ReceiveError};
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::ports::events::{CallbackOutcome, Event};
use crate::core::ports::order_repository::{
    InboxEntry, LoadOptions, SideWrites, TxContext, decide,
};
use crate::core::ports::payment::Callback;
use std::sync::Arc;
use std::time::Duration;

impl ReceiveCallback {
    /// Signed news is kept however often it comes, and followed at once while it is not too often.
    pub(super) async fn follow(
        &self,
        order_id: OrderId,
        provider: Provider,
        callback: Callback,
    ) -> Result<CallbackOutcome, ReceiveError> {
        tracing::Span::current().record("order.id", tracing::field::display(order_id));
        let wait = self.budget.spend(provider, &callback.number);
        if !callback.signed && !wait.is_zero() {
            return Err(ReceiveError::TooMany { retry_after: wait });
        }
        self.request_sync(order_id, provider, callback, wait, |_, _| ()).await?;
        Ok(CallbackOutcome::Followed)
    }

    /// Numbers derive from orders: one that the database has forgotten leads to its order all the same.
    pub(super) async fn unknown_number(
        &self,
        provider: Provider,
        callback: Callback,
    ) -> Result<CallbackOutcome, ReceiveError> {
        let number = callback.number.clone();
        if let Some((order_id, sequence)) = number.derived_from(&self.engine.policy.number_prefix) {
            let forgotten = number.clone();
            let adopt = move |aggregate: &mut OrderAggregate, now| {
                aggregate.adopt(provider, (&forgotten, sequence), now);
            };
            let (callback, wait) = (callback.clone(), Duration::ZERO);
            if self.request_sync(order_id, provider, callback, wait, adopt).await? {
                tracing::warn!(%order_id, system = %provider, %number,
                    "a callback about a registration that the database has forgotten: adopted");
                return Ok(CallbackOutcome::Adopted);
            }
        }
        if self.engine.orders.keep_unknown_callback(entry(provider, &callback)).await? {
            tracing::warn!(system = %provider, %number, kind = callback.kind,
                "a callback about a number that we never gave");
        }
        Ok(CallbackOutcome::UnknownNumber)
    }

    /// Entry and request in one transaction: an entry whose request was lost would never be looked at.
    /// `false` when there is no such order, or the number is not one of its own.
    async fn request_sync(
        &self,
        order_id: OrderId,
        provider: Provider,
        callback: Callback,
        wait: Duration,
        prepare: impl Fn(&mut OrderAggregate, Timestamp) + Send + 'static,
    ) -> Result<bool, ReceiveError> {
        let entropy = Arc::clone(&self.engine.entropy);
        let max_age = self.engine.policy.max_age;
        let decision = move |aggregate: &mut OrderAggregate, tx: &TxContext| {
            let (spare, from) = (TaskId::new(entropy.bits()), aggregate.order.status);
            prepare(aggregate, tx.now);
            let about = (provider, &callback.number);
            let known = aggregate.request_sync(about, tx.now, tx.now + wait, spare, max_age);
            let inbox = (known && callback.signed).then(|| entry(provider, &callback));
            let moved = (from, aggregate.order.status);
            ((known, moved), SideWrites { inbox, ..SideWrites::default() })
        };
        let orders = self.engine.orders.as_ref();
        let decided = decide(orders, order_id, LoadOptions::Aggregate, decision).await?;
        let Some((true, (from, to))) = decided else { return Ok(false) };
        if from != to {
            self.engine.events.record(&Event::OrderMoved { from, to });
        }
        self.engine.watch.work_is_due();
        Ok(true)
    }
}

fn entry(provider: Provider, callback: &Callback) -> InboxEntry {
    InboxEntry {
        provider,
        number: callback.number.clone(),
        event_id: callback.event_id.clone(),
        kind: callback.kind.clone(),
        signed: callback.signed,
    }
}
