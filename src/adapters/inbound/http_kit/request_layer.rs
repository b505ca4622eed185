//! What every request passes twice. In: it gets its context, and a permit or a refusal. Out: a problem
//! gets its body, the reply its common headers, and the request is counted, also when the client hung up
//! or the handler panicked. One layer does it all: each further one would cost every request a boxed
//! future.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::lang::Lang;
use crate::adapters::inbound::http_kit::lifecycle::Lifecycle;
use crate::adapters::inbound::http_kit::limits::ConcurrencyLimit;
use crate::adapters::inbound::http_kit::prefer::MAX_WAIT;
use crate::adapters::inbound::http_kit::prepared_refusal::PreparedRefusal;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::request_context::{
    RequestContext, X_REQUEST_ID, request_id,
};
use crate::adapters::inbound::http_kit::request_meter::{RequestMeter, method_label};
use crate::adapters::observe::traffic::{ServedRequest, ShedReason, Traffic};
use crate::core::ports::clock::Entropy;
use crate::core::ports::trace::TraceParent;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::HeaderValue;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tracing::field::Empty;
use tracing::{Instrument, Span};

/// An answer that is made at the deadline still gets out: the layer gives up a little later.
const SLACK: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct RequestLayer {
    traffic: Arc<dyn Traffic>,
    entropy: Arc<dyn Entropy>,
    lifecycle: Arc<Lifecycle>,
    limits: RequestLimits,
    requests: ConcurrencyLimit,
    /// Long polls wait cheaply and long: with a limit of their own they keep nobody else outside.
    long_polls: ConcurrencyLimit,
    overloaded: PreparedRefusal,
}

#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    /// The longest that a request may take; a client may shorten it.
    pub timeout: Duration,
    /// Requests at a time, and as many long polls.
    pub max_in_flight: usize,
    /// The route whose requests wait for news, up to [`MAX_WAIT`] longer than others may take.
    pub long_poll_route: Option<&'static str>,
}

impl RequestLayer {
    pub fn new(
        traffic: Arc<dyn Traffic>,
        entropy: Arc<dyn Entropy>,
        lifecycle: Arc<Lifecycle>,
        limits: RequestLimits,
    ) -> Self {
        let limit = || ConcurrencyLimit::new(limits.max_in_flight);
        let overloaded = PreparedRefusal::new(Code::Overloaded);
        Self {
            traffic,
            entropy,
            lifecycle,
            limits,
            requests: limit(),
            long_polls: limit(),
            overloaded,
        }
    }

    /// The answer to a request that finds every permit taken, before it costs anything: no span, no context,
    /// nothing of it is read. It is counted under its route, by which the error budget is kept.
    fn shed(
        &self,
        request: &Request,
        method: &'static str,
        route: Option<&str>,
    ) -> Option<Response> {
        let long_poll = route.is_some() && route == self.limits.long_poll_route;
        let limited = self.requests.is_full() && !long_poll && !self.lifecycle.is_draining();
        if !limited || is_health(request.uri().path()) {
            return None;
        }
        self.traffic.began(method);
        self.traffic.shed(ShedReason::Limit);
        let mut answer = self.overloaded.answer(Lang::of(request.headers()));
        let trace = TraceParent::new(self.entropy.bits(), 1);
        answer.headers_mut().insert(X_REQUEST_ID, request_id(request.headers(), &trace));
        let (status, code) = (answer.status().as_u16(), Some(Code::Overloaded.as_str()));
        let (took, trace_id) = (Duration::ZERO, "");
        self.traffic.ended(&ServedRequest { method, route, status, took, trace_id, code });
        Some(answer)
    }

    async fn serve(
        &self,
        context: &RequestContext,
        request: Request,
        next: Next,
        route: Option<&str>,
    ) -> Response {
        let health = is_health(context.path());
        if self.lifecycle.is_draining() && !health {
            self.traffic.shed(ShedReason::Draining);
            let goodbye = [(CONNECTION, HeaderValue::from_static("close"))];
            return (goodbye, Problem::new(Code::Overloaded)).into_response();
        }
        let _served = self.lifecycle.track_request();
        let long_poll = route.is_some() && route == self.limits.long_poll_route;
        let limit = if long_poll { &self.long_polls } else { &self.requests };
        let permit = limit.try_acquire();
        if permit.is_none() && !health {
            self.traffic.shed(ShedReason::Limit);
            return Problem::new(Code::Overloaded).into_response();
        }
        let end = if long_poll {
            Instant::now() + MAX_WAIT + self.limits.timeout
        } else {
            context.deadline.instant() + SLACK
        };
        let served = AssertUnwindSafe(next.run(request)).catch_unwind();
        match timeout_at(end, served).await {
            Ok(Ok(response)) => response,
            Ok(Err(_panic)) => Problem::internal("a handler panicked").into_response(),
            Err(_elapsed) => {
                self.traffic.shed(ShedReason::Deadline);
                Problem::new(Code::DeadlineExceeded).into_response()
            }
        }
    }
}

/// The layer as a middleware of axum's.
pub async fn apply(
    State(layer): State<Arc<RequestLayer>>,
    mut request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map(MatchedPath::as_str);
    let method = method_label(request.method());
    if let Some(refusal) = layer.shed(&request, method, route) {
        return refusal;
    }
    let span = request_span(method, route);
    let (uri, headers) = (request.uri(), request.headers());
    let (context, valid) =
        RequestContext::new(uri, headers, &span, &*layer.entropy, layer.limits.timeout);
    let (request_id, trace_id) = (&context.request_id, context.trace.trace_id());
    // Both at once: the log writes a span's fields anew for each act of recording.
    let request_id = request_id.to_str().unwrap_or_default();
    tracing::record_all!(span, request_id = request_id, trace_id = trace_id);
    let mut meter = RequestMeter::start(&*layer.traffic, method, route, (&span, trace_id));
    request.extensions_mut().insert(context.clone());
    let answer = async {
        let answer = match valid {
            Ok(()) => layer.serve(&context, request, next, route).await,
            Err(problem) => problem.into_response(),
        };
        finish(answer, &context, &mut meter)
    };
    answer.instrument(span.clone()).await
}

fn is_health(path: &str) -> bool {
    path.starts_with("/health/")
}

fn request_span(method: &str, route: Option<&str>) -> Span {
    let space = if route.is_some() { " " } else { "" };
    tracing::info_span!(
        "request",
        otel.name = %format_args!("{method}{space}{}", route.unwrap_or_default()),
        otel.kind = "server",
        http.request.method = method,
        http.route = route,
        request_id = Empty,
        trace_id = Empty,
    )
}

/// Common headers, and the body of a problem.
fn finish(
    mut answer: Response,
    context: &RequestContext,
    meter: &mut RequestMeter<'_>,
) -> Response {
    let problem = answer.extensions_mut().remove::<Problem>();
    if let Some(problem) = &problem {
        log_cause(problem);
        write_problem(problem, context, &mut answer);
    }
    let headers = answer.headers_mut();
    headers.insert(X_REQUEST_ID, context.request_id.clone());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    meter.finish(answer.status(), problem.map(|problem| problem.code));
    answer
}

fn write_problem(problem: &Problem, context: &RequestContext, answer: &mut Response) {
    *answer.body_mut() = Body::from(problem.body(context.problem_context()));
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

/// The one place where a failure of ours is logged, and what else has a cause for a person. What a
/// partner or the database could not do was told where it was handled.
fn log_cause(problem: &Problem) {
    if problem.code == Code::Internal || problem.cause().is_some() {
        let error = problem.cause().unwrap_or("unknown");
        tracing::error!(code = problem.code.as_str(), error, "request failed");
    }
}
