//! HTTP exchanges with the partners, each attempt for itself, under OpenTelemetry's names.

use super::families::{CALL, Families};
use prometheus::HistogramVec;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Exchanges(HistogramVec);

impl Exchanges {
    pub(super) fn new(families: &Families<'_>) -> Self {
        Self(families.histogram(
            "http_client_request_duration_seconds",
            "Duration of requests to partners, up to the head of the answer; error_type only on failure",
            &["server_address", "http_request_method", "http_response_status_code", "error_type"],
            CALL,
        ))
    }

    pub(super) fn start_at_zero(&self, server: &str, method: &str) {
        self.0.with_label_values(&[server, method, "200", ""]);
    }

    /// Of a status, its own text is the kind of error; without one, the cause.
    pub(super) fn ended(
        &self,
        server: &str,
        method: &str,
        status: Option<u16>,
        failure: Option<&str>,
        took: Duration,
    ) {
        let code = status.map(|status| status.to_string()).unwrap_or_default();
        let refused = status.is_some_and(|status| status >= 400);
        let error = failure.unwrap_or(if refused { &code } else { "" });
        self.0.with_label_values(&[server, method, &code, error]).observe(took.as_secs_f64());
    }
}
