//! Receive a callback: verify, keep, commit, answer; the truth is then asked for, never believed.

use crate::core::domain::registration::Provider;
use crate::core::ports::orders::StorageError;
use crate::core::ports::payment::CallbackError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveError {
    #[error("{0} is not configured")]
    UnknownProvider(Provider),
    #[error(transparent)]
    Callback(#[from] CallbackError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}
