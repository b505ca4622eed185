//! Whether anything is served at all: how far the end has come, and who is still being served.

use std::sync::atomic::{AtomicU8, Ordering};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// It only goes forward.
#[derive(Debug, Default)]
pub struct Lifecycle {
    stage: AtomicU8,
    stopping: CancellationToken,
    requests: TaskTracker,
}

impl Lifecycle {
    const STOPPING: u8 = 1;
    const DRAINING: u8 = 2;

    /// Readiness turns 503, so that load balancers notice; requests are still served, and long polls
    /// are answered as things stand.
    pub fn stop(&self) {
        self.stage.fetch_max(Self::STOPPING, Ordering::Relaxed);
        self.stopping.cancel();
    }

    /// `SHUTDOWN_GRACE` is over: new work is refused.
    pub fn drain(&self) {
        self.stop();
        self.stage.fetch_max(Self::DRAINING, Ordering::Relaxed);
    }

    pub fn is_stopping(&self) -> bool {
        self.stage.load(Ordering::Relaxed) >= Self::STOPPING
    }

    pub fn is_draining(&self) -> bool {
        self.stage.load(Ordering::Relaxed) >= Self::DRAINING
    }

    /// Resolves when the end begins.
    pub async fn stopped(&self) {
        self.stopping.cancelled().await;
    }

    /// A request that is being served, until dropped.
    pub fn track_request(&self) -> TaskTrackerToken {
        self.requests.token()
    }

    /// Resolves once no request is being served.
    pub async fn drained(&self) {
        self.requests.close();
        self.requests.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn the_end_does_not_go_backward() {
        let lifecycle = Lifecycle::default();
        lifecycle.drain();
        lifecycle.stop();
        assert!(lifecycle.is_stopping() && lifecycle.is_draining());
    }

    #[tokio::test]
    async fn the_end_waits_for_the_last_request() {
        let lifecycle = Lifecycle::default();
        let request = lifecycle.track_request();
        lifecycle.drain();
        assert!(lifecycle.drained().now_or_never().is_none());
        drop(request);
        lifecycle.drained().await;
    }
}
