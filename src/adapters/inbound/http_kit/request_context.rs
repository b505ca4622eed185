//! What belongs to one request: by which names it is found again, how long its answer is wanted, and in
//! which language it is spoken to. Made by the request's layer, read by everything behind it.

use crate::adapters::inbound::http_kit::lang::{Lang, Text};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::problem_body::ProblemContext;
use crate::adapters::observe::spans;
use crate::adapters::observe::traffic::Priority;
use crate::core::ports::call::Call;
use crate::core::ports::clock::Entropy;
use crate::core::ports::deadline::Deadline;
use crate::core::ports::trace::TraceParent;
use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use std::time::Duration;
use tracing::Span;

pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
pub const REQUEST_TIMEOUT: HeaderName = HeaderName::from_static("request-timeout");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

const MALFORMED_TIMEOUT: Text = Text::new(
    "must be whole milliseconds, at least 1",
    "должно быть целое число миллисекунд, не меньше 1",
);

/// Cheap to clone: the layer and the handler each have one.
#[derive(Debug, Clone)]
pub struct RequestContext {
    pub request_id: HeaderValue,
    /// A span of ours in the client's trace, or in a new one.
    pub trace: TraceParent,
    pub deadline: Deadline,
    /// The client set the deadline by itself.
    pub deadline_is_the_clients: bool,
    pub lang: Lang,
    pub priority: Priority,
    uri: Uri,
}

impl RequestContext {
    /// The context, with what is wrong with the request's headers: the context is needed to say so.
    /// `span` is the one that will stand for the request; it joins the client's trace.
    pub fn new(
        uri: &Uri,
        headers: &HeaderMap,
        span: &Span,
        entropy: &dyn Entropy,
        limit: Duration,
    ) -> (Self, Result<(), Problem>) {
        let wanted = headers.get(REQUEST_TIMEOUT).map(milliseconds);
        let (deadline, valid) = match wanted {
            None => (limit, Ok(())),
            Some(Some(wanted)) => (wanted.min(limit), Ok(())),
            Some(None) => {
                (limit, Err(Problem::invalid_at(REQUEST_TIMEOUT.as_str(), MALFORMED_TIMEOUT)))
            }
        };
        let trace = trace(headers, span, entropy);
        let context = Self {
            request_id: request_id(headers, &trace),
            trace,
            deadline: Deadline::after(deadline),
            deadline_is_the_clients: wanted.is_some(),
            lang: Lang::of(headers),
            priority: Priority::Normal,
            uri: uri.clone(),
        };
        (context, valid)
    }

    /// What goes along with the calls that this request causes.
    pub fn call(&self) -> Call {
        Call::new(self.deadline, Some(self.trace.clone()))
    }

    pub fn path(&self) -> &str {
        self.uri.path()
    }

    pub fn problem_context(&self) -> ProblemContext<'_> {
        ProblemContext {
            lang: self.lang,
            instance: Some(self.path()),
            trace_id: Some(self.trace.trace_id()),
        }
    }
}

/// As the span is exported, or a name that only logs, partners and the client will know.
fn trace(headers: &HeaderMap, span: &Span, entropy: &dyn Entropy) -> TraceParent {
    let theirs = headers.get(TRACEPARENT).and_then(|value| value.to_str().ok());
    let theirs = theirs.and_then(TraceParent::parse);
    if let Some(parent) = &theirs {
        spans::set_parent(span, parent);
    }
    spans::trace_parent_of(span).unwrap_or_else(|| {
        let bits = entropy.bits();
        let span = u64::try_from(bits & u128::from(u64::MAX)).expect("64 bits");
        match theirs {
            Some(parent) => parent.child(span),
            None => TraceParent::new(entropy.bits(), span),
        }
    })
}

/// The client's own if it is 1 to 128 of `[A-Za-z0-9._-]`, else the trace's id, so that one search
/// finds both.
pub(super) fn request_id(headers: &HeaderMap, trace: &TraceParent) -> HeaderValue {
    let allowed = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    let theirs = headers
        .get(X_REQUEST_ID)
        .filter(|id| (1..=128).contains(&id.len()) && id.as_bytes().iter().all(allowed));
    theirs
        .cloned()
        .unwrap_or_else(|| HeaderValue::from_str(trace.trace_id()).expect("hexadecimal digits"))
}

/// A number too large to be kept is cut like any other that is longer than the limit.
fn milliseconds(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?;
    let digits = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let millis = digits.then(|| text.parse().unwrap_or(u64::MAX))?;
    (millis > 0).then(|| Duration::from_millis(millis))
}

impl<S: Sync> FromRequestParts<S> for RequestContext {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(|| Problem::internal("a route without a request layer"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Sevens;

    impl Entropy for Sevens {
        fn bits(&self) -> u128 {
            7
        }
    }

    fn context(name: &'static str, value: &str) -> (RequestContext, Result<(), Problem>) {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        let (uri, limit) = (Uri::from_static("/x?y"), Duration::from_secs(20));
        RequestContext::new(&uri, &headers, &Span::none(), &Sevens, limit)
    }

    #[tokio::test]
    async fn a_good_request_id_is_kept_and_a_bad_one_replaced_by_the_traces() {
        assert_eq!(context("x-request-id", "a.B_9-z").0.request_id, "a.B_9-z");
        for bad in ["", "a b", "a/b", &"x".repeat(129)] {
            let (context, _) = context("x-request-id", bad);
            assert_eq!(context.request_id.to_str().unwrap(), context.trace.trace_id(), "{bad}");
        }
    }

    #[tokio::test]
    async fn the_clients_trace_goes_on_under_a_span_of_ours() {
        let theirs = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
        let (context, _) = context("traceparent", theirs);
        assert_eq!(
            context.trace.as_str(),
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000007-00"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_may_shorten_its_deadline_and_never_lengthen_it() {
        for (header, millis) in [("250", 250), ("0250", 250), ("60000", 20_000)] {
            let (context, valid) = context("request-timeout", header);
            assert!(valid.is_ok());
            assert_eq!(context.deadline.remaining(), Duration::from_millis(millis), "{header}");
        }
        let (context, _) = context("request-timeout", &"9".repeat(40));
        assert_eq!(context.deadline.remaining(), Duration::from_secs(20));
    }

    #[tokio::test]
    async fn a_malformed_deadline_is_refused_by_name() {
        for bad in ["", "0", "-1", "2s", "1.5", " "] {
            assert!(context("request-timeout", bad).1.is_err(), "{bad}");
        }
    }
}
