//! Receive a callback: verify, keep, commit, answer; the truth is then asked for, never believed.

use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::provider::Provider;
use crate::core::engine::Engine;
use crate::core::payment::OrderAggregate;
use crate::core::ports::clock::Clock;
use crate::core::ports::events::{CallbackOutcome, Event};
use crate::core::ports::order_repository::{
    InboxEntry, LoadOptions, SideWrites, TxContext, decide,
};
use crate::core::ports::payment::{Callback, CallbackError, RawCallback};
use crate::core::ports::storage_error::StorageError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Unsigned hints that one instance follows in a second: enough for a bank that does not sign, too
/// few for a stranger to make us ask the bank all day.
const UNSIGNED_PER_SECOND: u32 = 20;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveError {
    #[error("{0} is not configured")]
    UnknownProvider(Provider),
    #[error(transparent)]
    Callback(#[from] CallbackError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[derive(Debug)]
pub struct ReceiveCallback {
    pub engine: Arc<Engine>,
    pub clock: Arc<dyn Clock>,
    pub unsigned: UnsignedHints,
}

impl ReceiveCallback {
    /// # Errors
    /// A bad signature, nonsense, or a storage that cannot commit: the provider will send it again.
    #[tracing::instrument(name = "ReceiveCallback", skip_all, fields(
        payment.method = provider.as_str(), order.id,
    ))]
    pub async fn run(&self, provider: Provider, raw: &RawCallback<'_>) -> Result<(), ReceiveError> {
        let received = self.receive(provider, raw).await;
        let outcome = match &received {
            Ok(outcome) => Some(*outcome),
            Err(ReceiveError::Callback(_)) => Some(CallbackOutcome::Refused),
            // Not served: it comes again.
            Err(ReceiveError::UnknownProvider(_) | ReceiveError::Storage(_)) => None,
        };
        if let Some(outcome) = outcome {
            self.engine.events.record(&Event::Callback { system: provider, outcome });
        }
        received.map(|_| ())
    }

    async fn receive(
        &self,
        provider: Provider,
        raw: &RawCallback<'_>,
    ) -> Result<CallbackOutcome, ReceiveError> {
        let port =
            self.engine.gateway.port(provider).ok_or(ReceiveError::UnknownProvider(provider))?;
        let callback = port.read_callback(raw, self.clock.now())?;
        if !callback.signed && !self.unsigned.admit() {
            return Ok(CallbackOutcome::Dropped);
        }
        match self.engine.orders.find_order(provider, &callback.number).await? {
            Some(order_id) => {
                tracing::Span::current().record("order.id", tracing::field::display(order_id));
                self.request_sync(order_id, provider, callback).await?;
                Ok(CallbackOutcome::Followed)
            }
            None => self.orphan(provider, callback).await,
        }
    }

    /// Entry and request in one transaction: an entry whose request was lost would never be looked at.
    async fn request_sync(
        &self,
        order_id: OrderId,
        provider: Provider,
        callback: Callback,
    ) -> Result<(), ReceiveError> {
        let entropy = Arc::clone(&self.engine.entropy);
        let max_age = self.engine.policy.max_age;
        let decision = move |aggregate: &mut OrderAggregate, tx: &TxContext| {
            let spare = TaskId::new(entropy.bits());
            aggregate.request_sync((provider, &callback.number), tx.now, spare, max_age);
            let inbox = callback.signed.then(|| entry(provider, &callback));
            ((), SideWrites { inbox, ..SideWrites::default() })
        };
        decide(self.engine.orders.as_ref(), order_id, LoadOptions::Aggregate, decision).await?;
        self.engine.watch.work_is_due();
        Ok(())
    }

    async fn orphan(
        &self,
        provider: Provider,
        callback: Callback,
    ) -> Result<CallbackOutcome, ReceiveError> {
        if !callback.signed {
            return Ok(CallbackOutcome::Dropped);
        }
        if self.engine.orders.keep_unknown_callback(entry(provider, &callback)).await? {
            tracing::error!(system = %provider, number = %callback.number,
                "a callback about a number that we never gave");
        }
        Ok(CallbackOutcome::UnknownNumber)
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

/// How many unsigned hints were followed in the present second.
#[derive(Debug)]
pub struct UnsignedHints(Mutex<(Instant, u32)>);

impl Default for UnsignedHints {
    fn default() -> Self {
        Self(Mutex::new((Instant::now(), 0)))
    }
}

impl UnsignedHints {
    fn admit(&self) -> bool {
        let mut second = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if second.0.elapsed() >= Duration::from_secs(1) {
            *second = (Instant::now(), 0);
        }
        second.1 += 1;
        second.1 <= UNSIGNED_PER_SECOND
    }
}
