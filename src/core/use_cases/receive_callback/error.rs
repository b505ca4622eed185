//! Why a callback is not taken, and as what it is counted.

use crate::core::domain::provider::Provider;
use crate::core::ports::events::CallbackOutcome;
use crate::core::ports::payment::CallbackError;
use crate::core::ports::storage_error::StorageError;
use std::time::Duration;

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
    pub(super) const fn counted(&self) -> Option<CallbackOutcome> {
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
