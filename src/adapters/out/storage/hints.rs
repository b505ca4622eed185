//! Hints of one process: counters that anyone can wait on without missing a step.

use crate::core::ports::orders::Hint;
use tokio::sync::watch;

#[derive(Debug, Default)]
pub struct Hints {
    due: watch::Sender<u64>,
    finished: watch::Sender<u64>,
}

/// What a commit is to hint at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct News {
    pub due: bool,
    pub finished: bool,
}

impl News {
    pub fn join(&mut self, other: Self) {
        self.due |= other.due;
        self.finished |= other.finished;
    }
}

impl Hints {
    pub fn tell(&self, news: News) {
        if news.due {
            self.due.send_modify(|count| *count += 1);
        }
        if news.finished {
            self.finished.send_modify(|count| *count += 1);
        }
    }

    pub async fn wait(&self, hint: Hint, seen: u64) -> u64 {
        let mut counter = match hint {
            Hint::TaskDue => self.due.subscribe(),
            Hint::TaskFinished => self.finished.subscribe(),
        };
        let count = counter.wait_for(|count| *count != seen).await;
        *count.expect("the sender is borrowed for as long as we wait")
    }
}
