//! The process itself: what was built, whether it is ready, what went wrong at its edge.

use super::families::Families;
use super::labels::{APP_ERRORS, ErrorType, Label};
use prometheus::process_collector::ProcessCollector;
use prometheus::{GaugeVec, IntCounterVec};
use std::time::Duration;

/// What was built, as `build.rs` found it out.
#[derive(Debug, Clone, Copy)]
pub struct BuildInfo {
    pub version: &'static str,
    pub commit: &'static str,
    pub rustc: &'static str,
    /// RFC 3339.
    pub built_at: &'static str,
}

impl BuildInfo {
    pub const CURRENT: Self = Self {
        version: env!("CARGO_PKG_VERSION"),
        commit: env!("BUILD_COMMIT"),
        rustc: env!("BUILD_RUSTC"),
        built_at: env!("BUILD_TIME"),
    };
}

#[derive(Debug)]
pub(super) struct App {
    errors: IntCounterVec,
    shutdown: GaugeVec,
}

impl App {
    pub(super) fn new(families: &Families<'_>, build: BuildInfo) -> Self {
        let errors = families.counter(
            "app_errors_total",
            "Errors, each once, at the edge where it is handled",
            &["type", "exception"],
        );
        for (kind, exception) in APP_ERRORS {
            errors.with_label_values(&[kind.word(), exception]);
        }
        let shutdown = families.ratio(
            "app_shutdown_duration_seconds",
            "How long the shutdown has taken; 0 before it",
            &[],
        );
        shutdown.with_label_values::<&str>(&[]);
        families
            .gauge("app_build_info", "What runs: always 1", &["version", "commit", "rustc"])
            .with_label_values(&[build.version, build.commit, build.rustc])
            .set(1);
        families
            .0
            .register(Box::new(ProcessCollector::for_self()))
            .expect("the names of process_* are used once");
        Self { errors, shutdown }
    }

    pub(super) fn error(&self, exception: &str) {
        let known = APP_ERRORS.iter().find(|(_, word)| *word == exception);
        let (kind, word) = *known.unwrap_or(&(ErrorType::Unexpected, "internal"));
        self.errors.with_label_values(&[kind.word(), word]).inc();
    }

    pub(super) fn shutdown_took(&self, elapsed: Duration) {
        self.shutdown.with_label_values::<&str>(&[]).set(elapsed.as_secs_f64());
    }
}
