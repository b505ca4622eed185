//! The client that waits for a run.

use super::TOO_SHORT;
use crate::core::ports::deadline::Deadline;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A client that waits: until it has an answer, a registration that nobody executed can be undone.
#[derive(Debug, Clone)]
pub struct WaitingClient {
    deadline: Deadline,
    answered: Arc<AtomicBool>,
}

impl WaitingClient {
    /// A client that waits until its deadline.
    #[must_use]
    pub fn new(deadline: Deadline) -> Self {
        Self { deadline, answered: Arc::default() }
    }

    pub(super) fn waits(&self) -> bool {
        !self.answered.load(Ordering::Acquire)
    }

    /// It has been given another answer.
    pub(super) fn has_its_answer(&self) {
        self.answered.store(true, Ordering::Release);
    }

    pub(super) fn is_hurried(&self) -> bool {
        self.waits() && self.deadline.remaining() < TOO_SHORT
    }
}
