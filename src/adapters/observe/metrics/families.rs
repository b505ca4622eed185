//! How a family of series is made: a name, what it counts, its labels. A bad or doubled name is a
//! mistake in this code, found by the first test that builds `Metrics`.

use prometheus::core::Collector;
use prometheus::{
    CounterVec, GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry,
};
use std::time::{SystemTime, UNIX_EPOCH};

/// Durations of requests, in seconds, with an edge on every objective (0.5 s and 2.5 s).
pub(super) const HTTP: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

/// As [`HTTP`], and on: a call to a partner may last 15 s, or 36 s.
pub(super) const CALL: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 15.0, 30.0];

/// Waits for a place in a bulkhead, in seconds.
pub(super) const WAIT: &[f64] = &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25];

/// Database operations, in seconds.
pub(super) const DB: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];

/// Ages of tasks and of stale answers, in seconds.
pub(super) const AGE: &[f64] =
    &[1.0, 5.0, 15.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0];

/// Order totals, in roubles.
pub(super) const AMOUNT: &[f64] = &[100.0, 500.0, 1000.0, 5000.0, 10000.0, 50000.0, 100000.0];

/// A moment as Prometheus tells it: seconds since 1970.
pub(super) fn unix_now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Makes families and registers each at once.
#[derive(Debug)]
pub(super) struct Families<'a>(pub(super) &'a Registry);

impl Families<'_> {
    pub(super) fn counter(&self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        self.register(IntCounterVec::new(Opts::new(name, help), labels))
    }

    pub(super) fn gauge(&self, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
        self.register(IntGaugeVec::new(Opts::new(name, help), labels))
    }

    pub(super) fn ratio(&self, name: &str, help: &str, labels: &[&str]) -> GaugeVec {
        self.register(GaugeVec::new(Opts::new(name, help), labels))
    }

    pub(super) fn seconds_total(&self, name: &str, help: &str, labels: &[&str]) -> CounterVec {
        self.register(CounterVec::new(Opts::new(name, help), labels))
    }

    pub(super) fn histogram(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
        buckets: &[f64],
    ) -> HistogramVec {
        let opts = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.register(HistogramVec::new(opts, labels))
    }

    fn register<C: Collector + Clone + 'static>(&self, family: prometheus::Result<C>) -> C {
        let family = family.expect("the name and the labels are valid");
        self.0.register(Box::new(family.clone())).expect("the name is used once");
        family
    }
}
