//! What happened, and what should not have happened.

use std::sync::{Mutex, PoisonError};
use tokio::time::Instant;

/// A rule that was broken; the rules are those of the payments' invariants, I1 to I9, and their kin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub rule: &'static str,
    pub what: String,
}

#[derive(Debug)]
pub struct Chronicle {
    began: Instant,
    record: bool,
    book: Mutex<(Vec<String>, Vec<Violation>)>,
}

impl Chronicle {
    pub fn new(record: bool) -> Self {
        Self { began: Instant::now(), record, book: Mutex::default() }
    }

    /// Writes a line, if anybody wants to read it.
    pub fn note(&self, line: impl FnOnce() -> String) {
        if self.record {
            let line = format!("{:>11.3}  {}", self.began.elapsed().as_secs_f64(), line());
            self.book.lock().unwrap_or_else(PoisonError::into_inner).0.push(line);
        }
    }

    pub fn violated(&self, rule: &'static str, what: String) {
        self.note(|| format!("!! {rule}: {what}"));
        let violation = Violation { rule, what };
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        // A broken rule is often seen again at every look.
        if !book.1.contains(&violation) && book.1.len() < 20 {
            book.1.push(violation);
        }
    }

    pub fn close(&self) -> (Vec<Violation>, Vec<String>) {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut book.1), std::mem::take(&mut book.0))
    }
}
