//! Receive a callback: verify, keep, commit, answer; the truth is then asked for, never believed.

use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::engine::Engine;
use crate::core::payment::OrderAggregate;
use crate::core::ports::events::{CallbackOutcome, Event};
use crate::core::ports::order_repository::{
    InboxEntry, LoadOptions, SideWrites, TxContext, decide,
};
use crate::core::ports::payment::{Callback, CallbackError, RawCallback};
use crate::core::ports::storage_error::StorageError;
use crate::core::use_cases::callback_budget::CallbackBudget;
use std::sync::Arc;
use std::time::Duration;

/// How far a signed time may be from the database's, either way: an older message is a replay.
const TOLERANCE: Duration = Duration::from_secs(300);

/// Why a callback was not taken. What is not acknowledged an honest sender repeats.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveError {
    /// The route is there and nobody is behind it.
    #[error("{0} is not configured")]
    UnknownProvider(Provider),
    /// The adapter refused it.
    #[error(transparent)]
    Callback(#[from] CallbackError),
    /// Old ones may be replayed by anybody who has seen them.
    #[error("its signed time is too far from ours")]
    Skewed,
    /// Unsigned, and one of too many: it is not acknowledged, so that an honest sender repeats it.
    #[error("too many unsigned callbacks about one number")]
    TooMany {
        /// When the next one would be asked about.
        retry_after: Duration,
    },
    /// It is not kept: not acknowledged.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl ReceiveError {
    /// As what it is counted, if it is the callback's doing.
    const fn counted(&self) -> Option<CallbackOutcome> {
        match self {
            Self::Callback(CallbackError::SignatureInvalid | CallbackError::Malformed(_)) => {
                Some(CallbackOutcome::Refused)
            }
            Self::Callback(CallbackError::NotOurs(_)) => Some(CallbackOutcome::NotOurs),
            Self::Skewed => Some(CallbackOutcome::Skewed),
            Self::TooMany { .. } => Some(CallbackOutcome::Dropped),
            Self::UnknownProvider(_) | Self::Storage(_) => None,
        }
    }
}

/// Takes what a payment system tells of its own accord: verified, kept, and asked about; never
/// believed (docs/payments.md, rule 6).
#[derive(Debug)]
pub struct ReceiveCallback {
    /// Asks.
    pub engine: Arc<Engine>,
    /// How often one number is asked about.
    pub budget: CallbackBudget,
}

impl ReceiveCallback {
    /// # Errors
    /// A bad signature, nonsense, too many, or a storage that cannot commit: the provider will send it
    /// again.
    #[tracing::instrument(name = "ReceiveCallback", skip_all, fields(
        payment.method = provider.as_str(), order.id,
    ))]
    pub async fn run(&self, provider: Provider, raw: &RawCallback<'_>) -> Result<(), ReceiveError> {
        let received = self.receive(provider, raw).await;
        let counted =
            received.as_ref().map_or_else(ReceiveError::counted, |outcome| Some(*outcome));
        if let Some(outcome) = counted {
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
        let callback = match port.read_callback(raw) {
            Err(CallbackError::NotOurs(what)) => {
                tracing::info!(system = %provider, what, "a callback that concerns nothing of ours");
                return Ok(CallbackOutcome::NotOurs);
            }
            read => read?,
        };
        if let Some(signed_at) = callback.signed_at {
            self.check_time(signed_at).await?;
        }
        match self.engine.orders.find_order(provider, &callback.number).await? {
            Some(order_id) => self.follow(order_id, provider, callback).await,
            None if callback.signed => self.unknown_number(provider, callback).await,
            None => Ok(CallbackOutcome::Dropped),
        }
    }

    /// By the database's clock: those of the instances may differ.
    async fn check_time(&self, signed_at: Timestamp) -> Result<(), ReceiveError> {
        let now = self.engine.orders.now().await?;
        let off = now.since(signed_at).max(signed_at.since(now));
        if off > TOLERANCE {
            tracing::warn!(off_seconds = off.as_secs(), "a callback's signed time is too far off");
            return Err(ReceiveError::Skewed);
        }
        Ok(())
    }

    /// Signed news is kept however often it comes, and followed at once while it is not too often.
    async fn follow(
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
    async fn unknown_number(
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
