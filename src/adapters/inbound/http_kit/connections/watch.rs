//! What a connection is waited for, and since when: for its next request, or for a reply to be read.

use crate::adapters::observe::traffic::TimedOutConnection;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

#[derive(Debug)]
pub(super) struct Watch {
    idle: Duration,
    write: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Requests that came and whose replies are not yet taken up.
    open: usize,
    idle_since: Instant,
    /// Replies on their way, the oldest first.
    replies: VecDeque<(u64, Instant)>,
    next_reply: u64,
}

/// From a request's arrival until its reply is taken up.
#[derive(Debug)]
pub(super) struct OpenRequest {
    watch: Arc<Watch>,
    reply: Option<u64>,
}

impl Watch {
    pub(super) fn new(idle: Duration, write: Duration) -> Arc<Self> {
        let (idle_since, replies) = (Instant::now(), VecDeque::new());
        let state = State { open: 0, idle_since, replies, next_reply: 0 };
        Arc::new(Self { idle, write, state: Mutex::new(state) })
    }

    pub(super) fn begin(self: &Arc<Self>) -> OpenRequest {
        self.change(|state| state.open += 1);
        OpenRequest { watch: Arc::clone(self), reply: None }
    }

    /// Resolves when the client has kept us waiting for too long. Nothing wakes it: whatever begins
    /// while it sleeps ends later than it wakes.
    pub(super) async fn timed_out(&self) -> TimedOutConnection {
        loop {
            let now = Instant::now();
            let (due, reason) = self.change(|state| match (state.open, state.replies.front()) {
                (0, _) => (state.idle_since + self.idle, TimedOutConnection::Idle),
                (_, Some((_, began))) => (*began + self.write, TimedOutConnection::Write),
                (_, None) => (now + self.idle.min(self.write), TimedOutConnection::Idle),
            });
            if due <= now {
                return reason;
            }
            sleep_until(due.min(now + self.idle.min(self.write))).await;
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl OpenRequest {
    pub(super) fn replying(&mut self) {
        self.reply = Some(self.watch.change(|state| {
            let reply = state.next_reply;
            state.next_reply += 1;
            state.replies.push_back((reply, Instant::now()));
            reply
        }));
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.watch.change(|state| {
            state.open -= 1;
            state.replies.retain(|(reply, _)| Some(*reply) != self.reply);
            state.idle_since = Instant::now();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use tokio::time::{advance, timeout};

    const IDLE: Duration = Duration::from_secs(30);
    const WRITE: Duration = Duration::from_secs(20);

    #[tokio::test(start_paused = true)]
    async fn who_asks_nothing_is_given_the_idle_time() {
        let watch = Watch::new(IDLE, WRITE);
        advance(Duration::from_secs(29)).await;
        drop(watch.begin());
        let began = Instant::now();
        assert_eq!(watch.timed_out().await, TimedOutConnection::Idle);
        assert_eq!(began.elapsed().as_secs(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_served_for_as_long_as_it_takes_and_its_reply_must_be_read_in_time() {
        let watch = Watch::new(IDLE, WRITE);
        let mut request = watch.begin();
        assert!(timeout(Duration::from_secs(300), watch.timed_out()).await.is_err());
        request.replying();
        let began = Instant::now();
        // One that is read at once does not excuse the other.
        let mut other = watch.begin();
        other.replying();
        drop(other);
        assert_eq!(watch.timed_out().await, TimedOutConnection::Write);
        assert_eq!(began.elapsed().as_secs(), 20);
        drop(request);
        assert!(watch.timed_out().now_or_never().is_none());
    }
}
