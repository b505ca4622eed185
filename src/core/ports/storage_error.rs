//! Why a database did not do what it was asked: one error for all ports that it stands behind.

use crate::core::domain::ids::OrderId;

/// Why nothing was read or committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// The database cannot be reached or does not answer in time; it may recover by itself. Nothing
    /// was committed, or, rarely, its commit was under way and nobody heard how it ended.
    #[error("storage unavailable")]
    Unavailable,
    /// A provider's own id that names another registration already: what was told is not about this one.
    #[error("the provider's id belongs to another registration")]
    ForeignExternalId,
    /// The owner of a new order has another one under its external id: nothing was placed.
    #[error("the external id names order {0}")]
    ExternalIdTaken(OrderId),
    /// What is stored breaks its own rules.
    #[error("storage holds what it cannot hold: {0}")]
    Corrupt(&'static str),
    /// A newer version was here and wrote a word that this one does not know.
    #[error("a row with the word {0:?}, which this version does not know")]
    UnknownWord(Box<str>),
    /// A newer version was here and left an order at a payment system that this one does not know:
    /// nothing is wrong with it, and nothing can be done with it here.
    #[error("an order at payment system {0:?}, which this version does not know")]
    UnknownProvider(Box<str>),
}
