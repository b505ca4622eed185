//! Where moments and random bits come from, so that a simulation can own both.

use crate::core::domain::timestamp::Timestamp;
use std::fmt;

/// The wall clock of this process. Decisions about orders use the database's clock instead.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The moment; it may step back.
    fn now(&self) -> Timestamp;
}

/// Random bits for ids and lease tokens: unguessable in production, seeded in a simulation.
pub trait Entropy: Send + Sync + fmt::Debug {
    /// 128 of them.
    fn bits(&self) -> u128;
}
