//! How a registration is sent: for the first time, and once more in the same words.

use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::checkout::Checkout;
use crate::core::payment::effect::{CallKind, ProviderCall};
use crate::core::payment::registration::{Registration, RegistrationState};

impl Registration {
    /// About to be sent under its number for the first time.
    pub(super) fn arm(&mut self, checkout: Box<Checkout>, now: Timestamp) -> ProviderCall {
        self.state = RegistrationState::Intent;
        self.given_up_at = None;
        self.not_found = 0;
        self.expires_at = checkout.lifetime.map(|lifetime| now + lifetime);
        "armed".clone_into(&mut self.evidence);
        self.send(checkout, now)
    }

    /// Lets its register call go, for the first time or once more.
    pub(super) fn send(&mut self, checkout: Box<Checkout>, now: Timestamp) -> ProviderCall {
        self.sent_at = Some(now);
        self.call_of(checkout, now)
    }

    /// The call of a send: the same words in every repeat.
    pub(super) fn call_of(&mut self, mut checkout: Box<Checkout>, sent: Timestamp) -> ProviderCall {
        self.return_url = Some(checkout.return_url.clone());
        checkout.expires_at = checkout.lifetime.and(self.expires_at);
        ProviderCall::new(self, CallKind::Register(checkout), sent)
    }
}
