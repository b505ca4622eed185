//! Exemplars: with each bucket of a histogram the trace of the latest request that fell into it, so
//! that a dashboard leads from a slow second to what was slow. As many as there are buckets, no more.

use super::families::{Families, unix_now};
use prometheus::HistogramVec;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Exemplar {
    pub trace_id: u128,
    pub value: f64,
    /// Seconds since 1970.
    pub at: f64,
}

/// A histogram whose buckets remember.
#[derive(Debug)]
pub(super) struct Traced {
    histogram: HistogramVec,
    exemplars: Arc<Exemplars>,
}

/// The exemplars of one family.
#[derive(Debug)]
pub(super) struct Exemplars {
    name: &'static str,
    labels: &'static [&'static str],
    edges: &'static [f64],
    series: Mutex<HashMap<u64, Series>>,
}

#[derive(Debug)]
struct Series {
    values: Box<[String]>,
    /// One for each edge, and one beyond the last.
    latest: Box<[Option<Exemplar>]>,
}

impl Traced {
    pub(super) fn new(
        families: &Families<'_>,
        name: &'static str,
        help: &str,
        labels: &'static [&'static str],
        edges: &'static [f64],
    ) -> Self {
        let histogram = families.histogram(name, help, labels, edges);
        let exemplars = Arc::new(Exemplars { name, labels, edges, series: Mutex::default() });
        Self { histogram, exemplars }
    }

    pub(super) fn exemplars(&self) -> Arc<Exemplars> {
        Arc::clone(&self.exemplars)
    }

    pub(super) fn start_at_zero(&self, labels: &[&str]) {
        self.histogram.with_label_values(labels);
    }

    pub(super) fn observe(&self, labels: &[&str], value: f64, trace_id: Option<u128>) {
        self.histogram.with_label_values(labels).observe(value);
        if let Some(trace_id) = trace_id {
            self.exemplars.keep(labels, Exemplar { trace_id, value, at: unix_now() });
        }
    }
}

impl Exemplars {
    pub(super) const fn name(&self) -> &'static str {
        self.name
    }

    /// One that meets another thread here is not kept: any will do, and nobody shall wait for it.
    fn keep(&self, labels: &[&str], exemplar: Exemplar) {
        let Ok(mut series) = self.series.try_lock() else { return };
        let series = series.entry(key(labels.iter().copied())).or_insert_with(|| Series {
            values: labels.iter().map(|value| (*value).to_owned()).collect(),
            latest: vec![None; self.edges.len() + 1].into(),
        });
        let bucket = self.edges.partition_point(|edge| *edge < exemplar.value);
        if series.values.iter().eq(labels) {
            series.latest[bucket] = Some(exemplar);
        }
    }

    /// Those of a series, in the order of its buckets; `value_of` knows the value of each label.
    pub(super) fn of<'a>(&self, value_of: impl Fn(&str) -> &'a str) -> Box<[Option<Exemplar>]> {
        let values: Vec<&str> = self.labels.iter().map(|label| value_of(label)).collect();
        let series = self.series();
        let found = series.get(&key(values.iter().copied()));
        let found = found.filter(|series| series.values.iter().eq(&values));
        found.map(|series| series.latest.clone()).unwrap_or_default()
    }

    fn series(&self) -> MutexGuard<'_, HashMap<u64, Series>> {
        self.series.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Borrowed texts find their series by this, without a copy of them for each request.
fn key<'a>(values: impl Iterator<Item = &'a str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    values.for_each(|value| value.hash(&mut hasher));
    hasher.finish()
}
