//! Wake-ups of one process: counters that anyone can wait on without missing a step. Waiters are woken
//! in the order in which they came (tokio's `watch` draws lots), so that a simulated run replays.

use crate::core::ports::task_queue::Wakeup;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

#[derive(Debug, Default)]
pub struct Wakeups {
    due: Counter,
    finished: Counter,
}

#[derive(Debug, Default)]
struct Counter {
    count: AtomicU64,
    bell: Notify,
}

/// Whom a commit wakes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WakeupSet {
    pub due: bool,
    pub finished: bool,
}

impl WakeupSet {
    pub fn join(&mut self, other: Self) {
        self.due |= other.due;
        self.finished |= other.finished;
    }
}

impl Wakeups {
    pub fn wake(&self, set: WakeupSet) {
        if set.due {
            self.due.raise();
        }
        if set.finished {
            self.finished.raise();
        }
    }

    pub async fn wait(&self, wakeup: Wakeup, seen: u64) -> u64 {
        match wakeup {
            Wakeup::TaskDue => self.due.wait(seen).await,
            Wakeup::TaskFinished => self.finished.wait(seen).await,
        }
    }
}

impl Counter {
    fn raise(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
        self.bell.notify_waiters();
    }

    async fn wait(&self, seen: u64) -> u64 {
        loop {
            let mut rung = pin!(self.bell.notified());
            // Listen before looking, or a step in between is missed.
            rung.as_mut().enable();
            let count = self.count.load(Ordering::Acquire);
            if count != seen {
                return count;
            }
            rung.await;
        }
    }
}
