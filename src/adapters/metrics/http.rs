//! Requests that come in: how many, how long, how they ended.

use super::Metrics;
use super::families::{Families, HTTP};
use super::labels::{
    DeadlineStage, HTTP_METHODS, Label, Priority, STATUS_CLASSES, ShedReason, UNMATCHED,
    http_method, status_class,
};
use prometheus::{HistogramVec, IntCounterVec, IntGauge, IntGaugeVec};
use std::time::Duration;

/// The one scope in which this service limits itself as a whole.
const INBOUND: &str = "inbound";

#[derive(Debug)]
pub(super) struct Http {
    durations: HistogramVec,
    active: IntGaugeVec,
    requests: IntCounterVec,
    shed: IntCounterVec,
    deadline: IntCounterVec,
    limit: IntGaugeVec,
}

impl Http {
    pub(super) fn new(families: &Families<'_>) -> Self {
        let made = Self {
            durations: families.histogram(
                "http_server_request_duration_seconds",
                "Duration of inbound requests; error_type only on failure",
                &["http_request_method", "http_route", "http_response_status_code", "error_type"],
                HTTP,
            ),
            active: families.gauge(
                "http_server_active_requests",
                "Inbound requests being answered",
                &["http_request_method"],
            ),
            requests: families.counter(
                "http_requests_total",
                "Inbound requests answered; path is the route",
                &["method", "path", "status_class"],
            ),
            shed: families.counter(
                "load_shed_total",
                "Requests turned away at once",
                &["scope", "priority", "reason"],
            ),
            deadline: families.counter(
                "deadline_exceeded_total",
                "Requests that their own deadline ended",
                &["stage"],
            ),
            limit: families.gauge(
                "concurrency_limit",
                "Requests that may run at the same time",
                &["scope"],
            ),
        };
        for method in HTTP_METHODS {
            made.active.with_label_values(&[method]);
        }
        for priority in Priority::ALL {
            for reason in ShedReason::ALL {
                made.shed.with_label_values(&[INBOUND, priority.word(), reason.word()]);
            }
        }
        for stage in DeadlineStage::ALL {
            made.deadline.with_label_values(&[stage.word()]);
        }
        made.limit.with_label_values(&[INBOUND]);
        made
    }
}

/// A request being answered; over when dropped, also when its client hung up.
#[derive(Debug)]
#[must_use = "dropped at once, the request is not counted as active"]
pub struct ActiveRequest(IntGauge);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    pub fn request_begun(&self, method: &str) -> ActiveRequest {
        let gauge = self.http.active.with_label_values(&[http_method(method)]);
        gauge.inc();
        ActiveRequest(gauge)
    }

    /// A request was answered. `route` is the template that it matched; `None` when none did.
    pub fn http_request(&self, method: &str, route: Option<&str>, status: u16, elapsed: Duration) {
        let (method, route) = (http_method(method), route.unwrap_or(UNMATCHED));
        let code = status.to_string();
        let error_type = if status >= 500 { code.as_str() } else { "" };
        self.http
            .durations
            .with_label_values(&[method, route, code.as_str(), error_type])
            .observe(elapsed.as_secs_f64());
        self.http.requests.with_label_values(&[method, route, status_class(status)]).inc();
    }

    /// A route that is served: its counters exist before the first request.
    pub fn declare_route(&self, method: &str, route: &str) {
        for class in STATUS_CLASSES {
            self.http.requests.with_label_values(&[http_method(method), route, class]);
        }
    }

    pub fn load_shed(&self, priority: Priority, reason: ShedReason) {
        self.http.shed.with_label_values(&[INBOUND, priority.word(), reason.word()]).inc();
    }

    pub fn deadline_exceeded(&self, stage: DeadlineStage) {
        self.http.deadline.with_label_values(&[stage.word()]).inc();
    }

    pub fn concurrency_limit(&self, limit: usize) {
        self.http.limit.with_label_values(&[INBOUND]).set(i64::try_from(limit).unwrap_or(i64::MAX));
    }
}
