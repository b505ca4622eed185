//! Counts each request exactly once, in the metrics and in its span, also when the client hung up or the
//! handler panicked.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::observe::spans;
use crate::adapters::observe::traffic::{ServedRequest, Traffic};
use http::{Method, StatusCode};
use tokio::time::Instant;
use tracing::Span;

/// What answers a client that is gone.
const CLIENT_HUNG_UP: u16 = 499;

pub(super) struct RequestMeter<'a> {
    traffic: &'a dyn Traffic,
    method: &'static str,
    route: Option<&'a str>,
    trace_id: &'a str,
    span: &'a Span,
    began: Instant,
    finished: bool,
}

impl<'a> RequestMeter<'a> {
    pub(super) fn start(
        traffic: &'a dyn Traffic,
        method: &'static str,
        route: Option<&'a str>,
        (span, trace_id): (&'a Span, &'a str),
    ) -> Self {
        traffic.began(method);
        Self { traffic, method, route, trace_id, span, began: Instant::now(), finished: false }
    }

    pub(super) fn finish(&mut self, status: StatusCode, code: Option<Code>) {
        self.count(status.as_u16(), code.map(Code::as_str));
    }

    fn count(&mut self, status: u16, code: Option<&'static str>) {
        self.finished = true;
        let (method, route, took) = (self.method, self.route, self.began.elapsed());
        let trace_id = self.trace_id;
        self.traffic.ended(&ServedRequest { method, route, status, took, trace_id, code });
        spans::set_attribute(self.span, "url.scheme", "http");
        spans::set_attribute(self.span, "http.response.status_code", i64::from(status));
        if status >= 500 {
            spans::set_attribute(self.span, "error.type", code.unwrap_or("internal"));
            spans::set_error(self.span, code.unwrap_or("internal"));
        }
    }
}

impl Drop for RequestMeter<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.count(CLIENT_HUNG_UP, None);
        }
    }
}

/// A label with a bounded number of values.
pub(super) fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "HEAD" => "HEAD",
        "OPTIONS" => "OPTIONS",
        "PATCH" => "PATCH",
        _ => "_OTHER",
    }
}
