//! A refund: money given back for one paid registration. Its row says how far that has come and what
//! was known when it was sent, so that doubt about it is state and not a guess.

use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::money::Money;
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::registration::Registration;
use std::fmt;
use uuid::Uuid;

/// By what a provider that knows keys tells a repeat from a new refund; with the order it names the row.
///
/// It is derived from the order and from the client's `Idempotency-Key` (or from the task), so that even
/// a service that forgot the refund sends the same key again. 1 to 36 of `[A-Za-z0-9_-]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RefundKey(Box<str>);

impl RefundKey {
    /// For a client's own key: a UUID of version 5 in the order's namespace.
    #[must_use]
    pub fn of_client(order: OrderId, key: &str) -> Self {
        Self::derive(order, "key", key)
    }

    /// For a refund that nobody gave a key.
    #[must_use]
    pub fn of_task(order: OrderId, task: TaskId) -> Self {
        Self::derive(order, "task", &task.to_string())
    }

    /// For the refund that an accepted cancel has promised: one for each registration.
    #[must_use]
    pub fn of_cancel(order: OrderId, provider: Provider, sequence: u8) -> Self {
        Self::derive(order, "cancel", &format!("{provider} {sequence}"))
    }

    /// For a refund that was made elsewhere and only seen by us: the sum after it names it.
    #[must_use]
    pub fn of_sighting(order: OrderId, provider: Provider, sequence: u8, total: Money) -> Self {
        Self::derive(order, "seen", &format!("{provider} {sequence} {}", total.minor()))
    }

    /// A key as it was stored.
    #[must_use]
    pub fn stored(text: &str) -> Self {
        Self(text.into())
    }

    fn derive(order: OrderId, kind: &str, name: &str) -> Self {
        let name = format!("refund {kind} {name}");
        Self(Uuid::new_v5(&order.uuid(), name.as_bytes()).to_string().into())
    }

    /// As the provider is told it and the row keeps it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RefundKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How far a refund has come (docs/payments.md, rule 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefundState {
    /// Nothing was sent, or what was sent certainly had no effect.
    Planned,
    /// A call is under way, or the provider took its word: only its report is evidence.
    Sent,
    /// It may have been executed.
    InDoubt,
    /// The provider tells of the money.
    Done,
    /// The provider refused it.
    Refused,
    /// Given up by a person; nothing of it was or will be sent.
    Cancelled,
    /// Its time was over before anything was sent.
    Expired,
    /// A person must say what became of it.
    Review,
}

impl RefundState {
    /// In the order of a refund's life.
    pub const ALL: [Self; 8] = [
        Self::Planned,
        Self::Sent,
        Self::InDoubt,
        Self::Done,
        Self::Refused,
        Self::Cancelled,
        Self::Expired,
        Self::Review,
    ];

    /// Its word in rows and in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Sent => "sent",
            Self::InDoubt => "in_doubt",
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Review => "review",
        }
    }

    /// By its word; `None` for one that this version does not know.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether it may yet give money back.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Planned | Self::Sent | Self::InDoubt | Self::Review)
    }

    /// Whether it was sent and nobody knows what became of it: until somebody does, no other refund of
    /// the order is sent.
    #[must_use]
    pub const fn is_in_doubt(self) -> bool {
        matches!(self, Self::Sent | Self::InDoubt | Self::Review)
    }
}

/// Who wanted the money back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefundOrigin {
    /// The shop, by the API.
    Client,
    /// It came for a registration that was given up, or twice: an operator releases it.
    LateMoney,
    /// A cancel was accepted, and the payment was faster.
    Cancel,
    /// Made in the bank's cabinet, and only seen by us.
    Elsewhere,
}

impl RefundOrigin {
    /// In the order of their declaration.
    pub const ALL: [Self; 4] = [Self::Client, Self::LateMoney, Self::Cancel, Self::Elsewhere];

    /// Its word in rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::LateMoney => "late_money",
            Self::Cancel => "cancel",
            Self::Elsewhere => "elsewhere",
        }
    }

    /// By its word; `None` for one that this version does not know.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.as_str() == word)
    }
}

/// Money given back, as an entity of the aggregate (docs/payments.md, rule 11): its row is
/// committed before anything is sent, and remembers the key for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refund {
    /// Names it within its order.
    pub key: RefundKey,
    /// The registration whose money it gives back.
    pub provider: Provider,
    /// With the provider it names the registration's row.
    pub sequence: u8,
    /// What is to be given back, or was.
    pub amount: Money,
    /// How far it has come.
    pub state: RefundState,
    /// Who wanted it.
    pub origin: RefundOrigin,
    /// The task that sees to it; none for a refund that was made elsewhere.
    pub task: Option<TaskId>,
    /// The refunded sum that the provider told before the call: what it tells later is compared with it.
    pub told_before: Option<Money>,
    /// When the call was last let go: the name of that send.
    pub sent_at: Option<Timestamp>,
    /// How often it was let go: only a first send that did nothing is as good as none.
    pub sends: u32,
    /// Whether the provider took our word for it.
    pub acknowledged: bool,
    /// Reports since the last send that told the sum of before.
    pub unchanged: u32,
    /// By the database's clock.
    pub created_at: Timestamp,
    /// By the database's clock.
    pub updated_at: Timestamp,
}

impl Refund {
    /// Money that was given back, and not by us.
    #[must_use]
    pub const fn seen_elsewhere(
        key: RefundKey,
        (provider, sequence): (Provider, u8),
        amount: Money,
        now: Timestamp,
    ) -> Self {
        Self {
            key,
            provider,
            sequence,
            amount,
            state: RefundState::Done,
            origin: RefundOrigin::Elsewhere,
            task: None,
            told_before: None,
            sent_at: None,
            sends: 0,
            acknowledged: false,
            unchanged: 0,
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether it gives back money of this registration.
    #[must_use]
    pub fn is_of(&self, registration: &Registration) -> bool {
        (self.provider, self.sequence) == (registration.provider, registration.sequence)
    }

    /// A refund of which nothing was sent yet.
    #[must_use]
    pub const fn planned(
        key: RefundKey,
        (provider, sequence): (Provider, u8),
        amount: Money,
        origin: RefundOrigin,
        task: TaskId,
        now: Timestamp,
    ) -> Self {
        Self {
            key,
            provider,
            sequence,
            amount,
            state: RefundState::Planned,
            origin,
            task: Some(task),
            told_before: None,
            sent_at: None,
            sends: 0,
            acknowledged: false,
            unchanged: 0,
            created_at: now,
            updated_at: now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_for_whoever_derives_it_and_fits_every_provider() {
        let (one, two) =
            (OrderId::from_uuid(Uuid::from_u128(1)), OrderId::from_uuid(Uuid::from_u128(2)));
        assert_eq!(RefundKey::of_client(one, "k"), RefundKey::of_client(one, "k"));
        let task = TaskId::new(7);
        let rub = |minor| Money::rub(minor).unwrap();
        let keys = [
            RefundKey::of_client(one, "k"),
            RefundKey::of_client(one, "7"),
            RefundKey::of_client(two, "k"),
            RefundKey::of_task(one, task),
            RefundKey::of_task(two, task),
            RefundKey::of_cancel(one, Provider::Sber, 1),
            RefundKey::of_cancel(one, Provider::Sber, 2),
            RefundKey::of_sighting(one, Provider::Sber, 1, rub(100)),
            RefundKey::of_sighting(one, Provider::Sber, 1, rub(200)),
            RefundKey::of_sighting(one, Provider::OdnaKassa, 1, rub(100)),
        ];
        for (at, key) in keys.iter().enumerate() {
            assert_eq!(key.as_str().len(), 36);
            assert!(keys[..at].iter().all(|other| other != key), "{key}");
        }
    }
}
