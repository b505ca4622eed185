//! The door that every request passes twice. In: it gets its names and its deadline, finds a place or
//! is sent away. Out: a problem gets its body, the reply its common headers, and the exchange is
//! counted once, also when the client hung up or the handler panicked. One layer does it all: each
//! further one would cost every request a boxed future.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::limits::{Gate, Lifecycle};
use crate::adapters::inbound::http_kit::prefer::MAX_WAIT;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::request_context::{RequestContext, X_REQUEST_ID};
use crate::adapters::observe::spans;
use crate::adapters::observe::traffic::{Exchange, ShedReason, Traffic};
use crate::core::ports::clock::Entropy;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Method, StatusCode};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tracing::field::Empty;
use tracing::{Instrument, Span};

pub const TASK_ROUTE: &str = "/v1/tasks/{task_id}";

/// An answer that is made at the deadline still gets out: the door closes a little later.
const SLACK: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct Door {
    traffic: Arc<dyn Traffic>,
    entropy: Arc<dyn Entropy>,
    lifecycle: Arc<Lifecycle>,
    request_timeout: Duration,
    requests: Gate,
    /// Long polls wait cheaply and long: with a gate of their own they keep nobody else outside.
    polls: Gate,
}

impl Door {
    pub fn new(
        traffic: Arc<dyn Traffic>,
        entropy: Arc<dyn Entropy>,
        lifecycle: Arc<Lifecycle>,
        request_timeout: Duration,
        max_inflight: usize,
    ) -> Self {
        let (requests, polls) = (Gate::new(max_inflight), Gate::new(max_inflight));
        Self { traffic, entropy, lifecycle, request_timeout, requests, polls }
    }

    async fn serve(
        &self,
        visit: &RequestContext,
        request: Request,
        next: Next,
        route: Option<&str>,
    ) -> Response {
        let health = visit.path.starts_with("/health/");
        if self.lifecycle.is_draining() && !health {
            self.traffic.shed(ShedReason::Draining);
            let goodbye = [(CONNECTION, HeaderValue::from_static("close"))];
            return (goodbye, Problem::new(Code::Overloaded)).into_response();
        }
        let _visit = self.lifecycle.visit();
        let polls = route == Some(TASK_ROUTE);
        let place = if polls { self.polls.enter() } else { self.requests.enter() };
        if place.is_none() && !health {
            self.traffic.shed(ShedReason::Limit);
            return Problem::new(Code::Overloaded).into_response();
        }
        let patience = if polls {
            Instant::now() + MAX_WAIT + self.request_timeout
        } else {
            visit.deadline.instant() + SLACK
        };
        let served = AssertUnwindSafe(next.run(request)).catch_unwind();
        match timeout_at(patience, served).await {
            Ok(Ok(response)) => response,
            Ok(Err(_panic)) => Problem::internal("a handler panicked").into_response(),
            Err(_elapsed) => {
                self.traffic.shed(ShedReason::Deadline);
                Problem::new(Code::DeadlineExceeded).into_response()
            }
        }
    }
}

pub async fn door(State(door): State<Arc<Door>>, mut request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map(MatchedPath::as_str);
    let span = span_of(known(request.method()), route);
    let (uri, headers) = (request.uri(), request.headers());
    let (visit, verdict) =
        RequestContext::new(uri, headers, &span, &*door.entropy, door.request_timeout);
    // Both at once: the log writes a span's fields anew for each act of recording.
    let request_id = visit.request_id.to_str().unwrap_or_default();
    tracing::record_all!(span, request_id = request_id, trace_id = visit.trace.trace_id());
    let mut entry = Entry::begin(&*door.traffic, request.method(), route, (&visit, &span));
    request.extensions_mut().insert(visit.clone());
    let answer = async {
        let answer = match verdict {
            Ok(()) => door.serve(&visit, request, next, route).await,
            Err(problem) => problem.into_response(),
        };
        dress(answer, &visit, &mut entry)
    };
    answer.instrument(span.clone()).await
}

fn span_of(method: &str, route: Option<&str>) -> Span {
    let name = route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}"));
    tracing::info_span!(
        "request",
        otel.name = name,
        otel.kind = "server",
        http.request.method = method,
        http.route = route,
        request_id = Empty,
        trace_id = Empty,
    )
}

/// Common headers, and the body of a problem.
fn dress(mut answer: Response, visit: &RequestContext, entry: &mut Entry<'_>) -> Response {
    let problem = answer.extensions_mut().remove::<Problem>();
    if let Some(problem) = &problem {
        tell(problem);
        write(problem, visit, &mut answer);
    }
    let headers = answer.headers_mut();
    headers.insert(X_REQUEST_ID, visit.request_id.clone());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    entry.end(answer.status(), problem.map(|problem| problem.code));
    answer
}

fn write(problem: &Problem, visit: &RequestContext, answer: &mut Response) {
    *answer.body_mut() = Body::from(problem.body(visit.setting()));
    let headers = answer.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(VARY, HeaderValue::from_static("accept-language"));
    if let Some(seconds) = problem.retry_after_secs() {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if let Some(challenge) = problem.challenge() {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
}

/// The one place where a failure of ours is logged. What a partner or the database could not do was
/// told where it was handled.
fn tell(problem: &Problem) {
    if problem.code == Code::Internal {
        let cause = problem.cause().unwrap_or("unknown");
        tracing::error!(code = problem.code.as_str(), cause, "request failed");
    }
}

/// A request that was let in and is counted exactly once.
struct Entry<'a> {
    traffic: &'a dyn Traffic,
    method: &'static str,
    route: Option<&'a str>,
    trace_id: &'a str,
    span: &'a Span,
    began: Instant,
    ended: bool,
}

impl<'a> Entry<'a> {
    fn begin(
        traffic: &'a dyn Traffic,
        method: &Method,
        route: Option<&'a str>,
        (visit, span): (&'a RequestContext, &'a Span),
    ) -> Self {
        let (method, trace_id) = (known(method), visit.trace.trace_id());
        traffic.began(method);
        Self { traffic, method, route, trace_id, span, began: Instant::now(), ended: false }
    }

    fn end(&mut self, status: StatusCode, code: Option<Code>) {
        self.count(status.as_u16(), code.map(Code::as_str));
    }

    fn count(&mut self, status: u16, code: Option<&'static str>) {
        self.ended = true;
        let (method, route, took) = (self.method, self.route, self.began.elapsed());
        self.traffic.ended(&Exchange {
            method,
            route,
            status,
            took,
            trace_id: self.trace_id,
            code,
        });
        spans::note(self.span, "url.scheme", "http");
        spans::note(self.span, "http.response.status_code", i64::from(status));
        if status >= 500 {
            spans::note(self.span, "error.type", code.unwrap_or("internal"));
            spans::fail(self.span, code.unwrap_or("internal"));
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.count(499, None);
        }
    }
}

/// A label with a bounded number of values.
fn known(method: &Method) -> &'static str {
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
