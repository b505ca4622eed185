//! The end, in order: not ready, refuse, finish what is in flight, hand the rest back, go.

use crate::adapters::inbound::http_kit::lifecycle::Lifecycle;
use crate::adapters::observe::metrics::Metrics;
use crate::config::ShutdownConfig;
use crate::core::domain::ids::InstanceId;
use crate::core::ports::task_queue::TaskQueue;
use std::sync::Arc;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// SIGTERM, SIGINT, and those of a closed terminal: all of them end the process in order.
pub struct Signals([Signal; 4]);

impl Signals {
    /// # Errors
    /// The operating system does not let us listen.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self([
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
            signal(SignalKind::hangup())?,
            signal(SignalKind::quit())?,
        ]))
    }

    pub async fn next(&mut self) {
        let [terminate, interrupt, hangup, quit] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
            _ = quit.recv() => {}
        }
    }
}

/// What has to be ended.
pub struct GracefulShutdown {
    pub lifecycle: Arc<Lifecycle>,
    /// Tells the loops to begin nothing new.
    pub stop: CancellationToken,
    /// Work that has begun: detached requests and running tasks.
    pub work: TaskTracker,
    pub queue: Arc<dyn TaskQueue>,
    pub metrics: Arc<Metrics>,
    pub instance: InstanceId,
    pub limits: ShutdownConfig,
    pub quit_http: CancellationToken,
}

impl GracefulShutdown {
    /// Waits for a signal and ends; a second signal ends the process at once.
    pub async fn run<T>(
        self,
        mut signals: Signals,
        http: JoinHandle<T>,
        loops: Vec<JoinHandle<()>>,
    ) {
        signals.next().await;
        let began = Instant::now();
        tracing::info!("stopping: not ready any more");
        self.lifecycle.stop();
        self.stop.cancel();
        tokio::select! {
            () = signals.next() => std::process::exit(130),
            () = self.finish(began, http, loops) => {}
        }
    }

    async fn finish<T>(&self, began: Instant, http: JoinHandle<T>, loops: Vec<JoinHandle<()>>) {
        sleep(self.limits.grace).await;
        self.lifecycle.drain();
        let end = Instant::now() + self.limits.timeout;
        for ended in loops {
            // A loop that panicked has nothing left to do.
            let _ = timeout_at(end, ended).await;
        }
        self.work.close();
        let worked = timeout_at(end, self.work.wait()).await.is_ok();
        let answered = timeout_at(end, self.lifecycle.drained()).await.is_ok();
        // Only now may connections close: who comes late is told so, until nobody waits any more.
        self.quit_http.cancel();
        let served = timeout_at(end, http).await.is_ok();
        if !(worked && answered && served) {
            tracing::warn!("SHUTDOWN_TIMEOUT is over: what has not finished is left to others");
        }
        match self.queue.release_leases(&self.instance).await {
            Ok(released) => tracing::info!(released, "stopped"),
            Err(error) => tracing::warn!(%error, "leases are left to run out"),
        }
        self.metrics.shutdown_took(began.elapsed());
    }
}
