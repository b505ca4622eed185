//! What is logged, changed while the service runs.

use std::fmt;
use std::time::Duration;

/// The filter in force, and the one that it was started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilter {
    pub filter: String,
    /// `RUST_LOG`.
    pub configured: String,
    /// When the configured one returns.
    pub ends_in: Option<Duration>,
}

/// A text that is no filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a log filter")]
pub struct BadFilter;

/// The log's switch.
pub trait LogControl: Send + Sync + fmt::Debug {
    /// What is in force.
    fn describe(&self) -> LogFilter;

    /// Puts another filter in force for a while. Within an async runtime.
    ///
    /// # Errors
    /// The text is no filter; nothing has changed.
    fn set(&self, filter: &str, ttl: Duration) -> Result<(), BadFilter>;
}
