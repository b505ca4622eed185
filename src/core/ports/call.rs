//! What goes along with every call to a partner.

use crate::core::ports::deadline::Deadline;
use crate::core::ports::trace::TraceParent;

/// The circumstances of a call: how long its answer is wanted, in which trace, and by whom.
#[derive(Debug, Clone)]
pub struct Call {
    /// When nobody waits for the answer any more.
    pub deadline: Deadline,
    /// The trace that the partner is told to go on with.
    pub trace: Option<TraceParent>,
    /// A status poll of the workers: while the breaker is closed only its failures count, so that
    /// many good polls cannot dilute a dead `register`.
    pub background: bool,
}

impl Call {
    /// A call for somebody who waits.
    #[must_use]
    pub const fn new(deadline: Deadline, trace: Option<TraceParent>) -> Self {
        Self { deadline, trace, background: false }
    }

    /// The same as a poll of the workers.
    #[must_use]
    pub fn in_background(mut self) -> Self {
        self.background = true;
        self
    }
}
