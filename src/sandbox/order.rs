//! One order at a payment partner, as the bank itself knows it, and what may happen to it.
//! All payment systems keep this record; each words it in its own protocol.

use serde::Serialize;

use super::callbacks::Policy;
use super::fault::OrderEffects;

/// A payer may fail so often before the bank closes the order.
const PAYMENT_ATTEMPTS: u8 = 3;

/// Which protocol registered the order, in its partner's word; callbacks are worded in the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Protocol(pub(super) &'static str);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Registered, waits for the payer.
    Created,
    /// Two-stage: the money is on hold.
    Held,
    /// Nobody knows what became of the payer's money.
    InDoubt,
    Paid,
    /// The payer's attempts are used up.
    Declined,
    Expired,
    /// Called off by the merchant before payment.
    Cancelled,
    /// The hold or the same-day payment was taken back.
    Reversed,
}

/// What the partner tells the world about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Held,
    Paid,
    /// One attempt of the payer failed; the order may be still open.
    AttemptFailed,
    Expired,
    Cancelled,
    Reversed,
    Refunded,
}

/// Why a verb was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the order is not in a state that allows this")]
    WrongState,
    #[error("the amount does not fit the order")]
    WrongAmount,
    /// The same refund key with another amount.
    #[error("the refund is known with other data")]
    OtherRefund,
}

#[derive(Debug, Clone, Serialize)]
pub struct StateChange {
    pub at_ms: i64,
    pub state: State,
    pub refunded: i64,
    pub cause: &'static str,
}

#[derive(Debug, Clone, Serialize)]
pub struct Refund {
    pub key: Option<String>,
    pub amount: i64,
    pub at_ms: i64,
}

/// What an order is made of.
#[derive(Debug, Clone)]
pub struct NewOrder {
    pub protocol: Protocol,
    pub number: String,
    /// Kopecks.
    pub amount: i64,
    pub two_stage: bool,
    pub description: String,
    pub return_url: String,
    pub fail_url: Option<String>,
    /// `jsonParams` or `metadata`.
    pub params: Vec<(String, String)>,
    pub expires_at_ms: i64,
    pub effects: OrderEffects,
}

#[derive(Debug)]
pub struct Order {
    pub id: String,
    pub asked: NewOrder,
    /// What the bank committed; differs from what was asked only through a fault.
    pub amount: i64,
    /// Registered by another system under our login.
    pub foreign: bool,
    pub state: State,
    /// Captured, and not lessened by refunds.
    pub deposited: i64,
    pub refunded: i64,
    pub refunds: Vec<Refund>,
    pub created_at_ms: i64,
    pub paid_at_ms: Option<i64>,
    pub attempts_failed: u8,
    /// A reversal that failed is never tried again.
    pub reversal_failed: bool,
    pub partly_reversed: bool,
    /// +1 on each change.
    pub version: u32,
    pub history: Vec<StateChange>,
    /// Status queries that still say "no such order".
    pub read_lag: u32,
    /// Status queries that still say "the issuer's page is open".
    pub acs_polls: u32,
}

impl Order {
    pub fn new(id: String, asked: NewOrder, foreign: bool, now_ms: i64) -> Self {
        let first =
            StateChange { at_ms: now_ms, state: State::Created, refunded: 0, cause: "registered" };
        Self {
            id,
            amount: asked.amount + asked.effects.amount_delta,
            foreign,
            state: State::Created,
            deposited: 0,
            refunded: 0,
            refunds: Vec::new(),
            created_at_ms: now_ms,
            paid_at_ms: None,
            attempts_failed: 0,
            reversal_failed: false,
            partly_reversed: false,
            version: 1,
            history: vec![first],
            read_lag: asked.effects.read_lag,
            acs_polls: asked.effects.acs_polls,
            asked,
        }
    }

    /// Registered or paid: money is or may come to be here.
    pub fn is_live(&self) -> bool {
        matches!(self.state, State::Created | State::Held | State::InDoubt | State::Paid)
    }

    pub fn callback_policy(&self) -> Option<&Policy> {
        self.asked.effects.callbacks.as_ref()
    }

    pub fn pay(&mut self, now_ms: i64) -> Result<Event, Refusal> {
        self.demand(self.state == State::Created)?;
        if self.asked.two_stage {
            return self.hold(now_ms);
        }
        self.deposited = self.amount;
        self.paid_at_ms = Some(now_ms);
        Ok(self.becomes(State::Paid, now_ms, "paid", Event::Paid))
    }

    pub fn hold(&mut self, now_ms: i64) -> Result<Event, Refusal> {
        self.demand(self.state == State::Created)?;
        Ok(self.becomes(State::Held, now_ms, "held", Event::Held))
    }

    pub fn lose_sight(&mut self, now_ms: i64) -> Result<Event, Refusal> {
        self.demand(self.state == State::Created)?;
        Ok(self.becomes(State::InDoubt, now_ms, "lost sight of", Event::AttemptFailed))
    }

    /// One attempt fails; the last one allowed ends the order.
    pub fn fail_attempt(&mut self, now_ms: i64) -> Result<Event, Refusal> {
        self.demand(self.state == State::Created)?;
        self.attempts_failed += 1;
        let state =
            if self.attempts_failed < PAYMENT_ATTEMPTS { State::Created } else { State::Declined };
        Ok(self.becomes(state, now_ms, "attempt failed", Event::AttemptFailed))
    }

    /// The bank declines for good.
    pub fn decline(&mut self, now_ms: i64) -> Result<Event, Refusal> {
        self.demand(self.state == State::Created)?;
        self.attempts_failed = PAYMENT_ATTEMPTS;
        Ok(self.becomes(State::Declined, now_ms, "declined", Event::AttemptFailed))
    }

    pub fn expire(&mut self, now_ms: i64) -> Result<Event, Refusal> {
        self.demand(self.state == State::Created)?;
        Ok(self.becomes(State::Expired, now_ms, "expired", Event::Expired))
    }

    /// The merchant calls off an order that nobody has paid.
    pub fn cancel(&mut self, now_ms: i64) -> Result<Event, Refusal> {
        self.demand(self.state == State::Created)?;
        Ok(self.becomes(State::Cancelled, now_ms, "cancelled", Event::Cancelled))
    }

    /// Captures a hold; without an amount, all of it.
    pub fn capture(&mut self, amount: Option<i64>, now_ms: i64) -> Result<Event, Refusal> {
        self.demand(self.state == State::Held)?;
        let amount = amount.unwrap_or(self.amount);
        if amount <= 0 || amount > self.amount {
            return Err(Refusal::WrongAmount);
        }
        self.deposited = amount;
        self.paid_at_ms = Some(now_ms);
        Ok(self.becomes(State::Paid, now_ms, "captured", Event::Paid))
    }

    /// Takes back a hold, or a payment of which nothing was refunded; a part of it only once.
    pub fn reverse(&mut self, amount: Option<i64>, now_ms: i64) -> Result<Event, Refusal> {
        let whole = if self.state == State::Paid { self.deposited } else { self.amount };
        let open = matches!(self.state, State::Held | State::Paid) && self.refunded == 0;
        if self.reversal_failed || self.partly_reversed || !open {
            self.reversal_failed = true;
            return Err(Refusal::WrongState);
        }
        match amount {
            Some(part) if part <= 0 || part > whole => {
                self.reversal_failed = true;
                Err(Refusal::WrongAmount)
            }
            Some(part) if part < whole => {
                self.partly_reversed = true;
                self.amount -= part;
                self.deposited = self.deposited.min(self.amount);
                Ok(self.becomes(self.state, now_ms, "reversed in part", Event::Reversed))
            }
            Some(_) | None => {
                self.deposited = 0;
                Ok(self.becomes(State::Reversed, now_ms, "reversed", Event::Reversed))
            }
        }
    }

    /// Gives money back. A known key with the same amount does nothing and says so by `None`.
    pub fn refund(
        &mut self,
        key: Option<&str>,
        amount: i64,
        now_ms: i64,
    ) -> Result<Option<Event>, Refusal> {
        let known = key
            .and_then(|key| self.refunds.iter().find(|refund| refund.key.as_deref() == Some(key)));
        if let Some(known) = known {
            return if known.amount == amount { Ok(None) } else { Err(Refusal::OtherRefund) };
        }
        self.demand(self.state == State::Paid)?;
        if amount <= 0 || amount > self.deposited - self.refunded {
            return Err(Refusal::WrongAmount);
        }
        self.refunds.push(Refund { key: key.map(str::to_owned), amount, at_ms: now_ms });
        self.refunded += amount;
        Ok(Some(self.becomes(State::Paid, now_ms, "refunded", Event::Refunded)))
    }

    fn demand(&self, allowed: bool) -> Result<(), Refusal> {
        if allowed { Ok(()) } else { Err(Refusal::WrongState) }
    }

    fn becomes(&mut self, state: State, now_ms: i64, cause: &'static str, event: Event) -> Event {
        self.state = state;
        self.version += 1;
        self.history.push(StateChange { at_ms: now_ms, state, refunded: self.refunded, cause });
        event
    }
}
