//! What the service as a whole may do, by operators' word, on all instances: the mode is in the database,
//! and each instance looks at it every second.

use crate::core::domain::timestamp::Timestamp;
use crate::core::engine::money_hold::MoneyHold;
use crate::core::ports::storage_error::StorageError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// So old what an instance knows may be: an operator's word is in force everywhere after this.
pub const LOOKED_AT_EVERY: Duration = Duration::from_secs(1);

/// What the service may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Everything.
    #[default]
    Normal,
    /// It reads, takes callbacks and asks payment systems; it places nothing and moves no money.
    ReadOnly,
}

impl Mode {
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::ReadOnly => "read_only",
        }
    }

    /// The mode of that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Normal, Self::ReadOnly].into_iter().find(|mode| mode.as_str() == word)
    }
}

/// The mode in force, and whose word it is; nobody's while none was ever said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServiceMode {
    pub mode: Mode,
    pub since: Option<Timestamp>,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
    pub reason: String,
    pub by: String,
}

/// An operator's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeChange {
    pub mode: Mode,
    /// Without it, until the next word.
    pub ttl: Option<Duration>,
    pub reason: String,
    pub by: String,
}

/// Where the mode is kept for all instances.
#[async_trait::async_trait]
pub trait ServiceModes: Send + Sync + fmt::Debug {
    /// The mode in force.
    async fn service_mode(&self) -> Result<ServiceMode, StorageError>;

    /// Keeps the change with who said it and why, and answers what is in force from now on.
    async fn change_service_mode(&self, change: &ModeChange) -> Result<ServiceMode, StorageError>;
}

/// What this instance knows of the mode, for whoever must ask at each request.
#[derive(Debug)]
pub struct ModeWatch {
    modes: Arc<dyn ServiceModes>,
    hold: Arc<MoneyHold>,
}

impl ModeWatch {
    /// Over where the mode is kept; `hold` is what obeys it.
    #[must_use]
    pub fn new(modes: Arc<dyn ServiceModes>, hold: Arc<MoneyHold>) -> Self {
        Self { modes, hold }
    }

    /// Whether this instance takes nothing new.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.hold.is_held()
    }

    /// Looks at the database. While it does not answer, what was known stays in force.
    ///
    /// # Errors
    /// The storage cannot answer.
    pub async fn look(&self) -> Result<ServiceMode, StorageError> {
        let mode = self.modes.service_mode().await?;
        self.obey(&mode);
        Ok(mode)
    }

    /// Changes the mode, here at once and elsewhere at the next look.
    ///
    /// # Errors
    /// The storage cannot answer.
    pub async fn change(&self, change: &ModeChange) -> Result<ServiceMode, StorageError> {
        let mode = self.modes.change_service_mode(change).await?;
        self.obey(&mode);
        Ok(mode)
    }

    fn obey(&self, mode: &ServiceMode) {
        let read_only = mode.mode == Mode::ReadOnly;
        if self.hold.set(read_only) != read_only {
            tracing::warn!(
                mode = mode.mode.as_str(),
                reason = mode.reason,
                by = mode.by,
                "the service's mode has changed"
            );
        }
    }
}
