//! Receive a callback: verify, keep, commit, answer; the truth is then asked for, never believed.

mod budget;
mod error;
mod follow;

pub use budget::CallbackBudget;
pub use error::ReceiveError;

use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::engine::Engine;
use crate::core::ports::events::{CallbackOutcome, Event};
use crate::core::ports::payment::{CallbackError, RawCallback};
use std::sync::Arc;
use std::time::Duration;

/// How far a signed time may be from the database's, either way: an older message is a replay.
const TOLERANCE: Duration = Duration::from_secs(300);

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
}
