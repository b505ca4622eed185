//! Why a database did not do what it was asked: one error for all ports that it stands behind.

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// The database cannot be reached or does not answer in time; it may recover by itself. Nothing
    /// was committed, or, rarely, its commit was under way and nobody heard how it ended.
    #[error("storage unavailable")]
    Unavailable,
    /// What is stored breaks its own rules.
    #[error("storage holds what it cannot hold: {0}")]
    Corrupt(&'static str),
}
