//! What every request passes twice. In: it gets its context, and a permit or a refusal. Out: a problem
//! gets its body, the reply its common headers, and the request is counted, also when the client hung up
//! or the handler panicked. One layer does it all: each further one would cost every request a boxed
//! future.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::incoming::{BodyLimits, take_in};
use crate::adapters::inbound::http_kit::lang::Lang;
use crate::adapters::inbound::http_kit::lifecycle::Lifecycle;
use crate::adapters::inbound::http_kit::limits::ConcurrencyLimit;
use crate::adapters::inbound::http_kit::origin::{OriginRule, check_headers};
use crate::adapters::inbound::http_kit::outgoing::Client;
use crate::adapters::inbound::http_kit::prefer::MAX_WAIT;
use crate::adapters::inbound::http_kit::prepared_refusal::PreparedRefusal;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::request_context::{
    RequestContext, X_REQUEST_ID, request_id,
};
use crate::adapters::inbound::http_kit::request_meter::{RequestMeter, method_label};
use crate::adapters::observe::log_throttle::LogThrottle;
use crate::adapters::observe::traffic::{Priority, ServedRequest, ShedReason, Traffic};
use crate::adapters::resilience::settings::Concurrency;
use crate::core::ports::clock::Entropy;
use crate::core::ports::trace::TraceParent;
use axum::body::HttpBody;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::HeaderMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tracing::field::Empty;
use tracing::{Instrument, Span};

/// A line in the log of each priority and reason, so often at most.
const SHED_LINES: Duration = Duration::from_secs(1);

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
    /// Callbacks come without a token: with a limit of their own they keep no customer outside.
    callbacks: ConcurrencyLimit,
    overloaded: PreparedRefusal,
    shed_lines: LogThrottle<(Priority, ShedReason)>,
}

#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    /// The longest that a request may take; a client may shorten it.
    pub timeout: Duration,
    /// Requests at a time, and as many of each further class.
    pub max_in_flight: usize,
    /// Whether the number of ordinary requests finds itself below that.
    pub concurrency: Concurrency,
    pub body: BodyLimits,
    pub rules: RouteRules,
    pub origin: OriginRule,
}

/// What a listener knows of its routes that the layer must know before it serves them.
#[derive(Debug, Clone, Copy)]
pub struct RouteRules {
    /// Of a route's template.
    pub class_of: fn(&str) -> RequestClass,
    /// Of a method and a route's template.
    pub rank_of: fn(&str, &str) -> Rank,
    /// A refusal before a body is read, of a path and the headers.
    pub first_look: fn(&str, &HeaderMap) -> Result<(), Problem>,
}

/// Requests that share a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestClass {
    Ordinary,
    /// Waits for news, up to [`MAX_WAIT`] longer than others may take.
    LongPoll,
    /// What a payment system tells.
    Callback,
    /// Always answered.
    Health,
}

/// What a request is to us when there is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    pub priority: Priority,
    /// Nobody but ourselves is asked for it: how long it takes tells how we are.
    pub own_work: bool,
}

impl Rank {
    pub const fn of(priority: Priority) -> Self {
        Self { priority, own_work: false }
    }

    pub const fn of_own_work(priority: Priority) -> Self {
        Self { priority, own_work: true }
    }
}

impl Default for RouteRules {
    fn default() -> Self {
        Self {
            class_of: |_| RequestClass::Ordinary,
            rank_of: |_, _| Rank::of(Priority::Normal),
            first_look: |_, _| Ok(()),
        }
    }
}

impl RequestLayer {
    pub fn new(
        traffic: Arc<dyn Traffic>,
        entropy: Arc<dyn Entropy>,
        lifecycle: Arc<Lifecycle>,
        limits: RequestLimits,
    ) -> Self {
        let limit = || ConcurrencyLimit::new(limits.max_in_flight);
        Self {
            traffic,
            entropy,
            lifecycle,
            limits,
            requests: ConcurrencyLimit::finding_itself(limits.max_in_flight, limits.concurrency),
            long_polls: limit(),
            callbacks: limit(),
            overloaded: PreparedRefusal::new(Code::Overloaded),
            shed_lines: LogThrottle::new(SHED_LINES),
        }
    }

    fn rank_of(&self, method: &str, route: Option<&str>) -> Rank {
        route.map_or(Rank::of(Priority::Low), |route| (self.limits.rules.rank_of)(method, route))
    }

    fn tell_shed(&self, priority: Priority, reason: ShedReason) {
        self.traffic.shed(priority, reason);
        if let Some(left_out) = self.shed_lines.may_log((priority, reason)) {
            let (priority, reason) = (priority.as_str(), reason.as_str());
            tracing::warn!(priority, reason, left_out, "requests are refused unserved");
        }
    }

    /// The answer to a request that finds every permit taken, before it costs anything: no span, no context,
    /// nothing of it is read. It is counted under its route, by which the error budget is kept.
    fn shed(
        &self,
        request: &Request,
        method: &'static str,
        route: Option<&str>,
        priority: Priority,
    ) -> Option<Response> {
        let full = self.requests.is_full(priority) && !self.lifecycle.is_draining();
        if !full || self.class_of(request) != RequestClass::Ordinary {
            return None;
        }
        self.traffic.began(method);
        self.tell_shed(priority, ShedReason::Limit);
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
        client: &Client,
        rank: Rank,
    ) -> Response {
        let class = self.class_of(&request);
        let priority = rank.priority;
        if let Err(refusal) = self.admit(class, client, &request, priority) {
            return refusal.into_response();
        }
        let _served = self.lifecycle.track_request();
        let (request, _held) = take_in(request, self.limits.body, context.deadline.instant()).await;
        let permit = self.limit_of(class).map(|limit| limit.try_acquire(priority));
        if let Some(None) = permit {
            self.tell_shed(priority, ShedReason::Limit);
            return Problem::new(Code::Overloaded).into_response();
        }
        let end = match class {
            RequestClass::LongPoll => Instant::now() + MAX_WAIT + self.limits.timeout,
            RequestClass::Ordinary | RequestClass::Callback | RequestClass::Health => {
                context.deadline.instant() + SLACK
            }
        };
        let begun = Instant::now();
        let served = AssertUnwindSafe(next.run(request)).catch_unwind();
        match timeout_at(end, served).await {
            Ok(Ok(response)) => {
                self.record_duration(rank, begun);
                response
            }
            Ok(Err(_panic)) => Problem::internal("a handler panicked").into_response(),
            Err(_elapsed) => {
                self.record_duration(rank, begun);
                self.tell_shed(priority, ShedReason::Deadline);
                Problem::new(Code::DeadlineExceeded).into_response()
            }
        }
    }

    /// The limit in force comes from how long our own work takes.
    fn record_duration(&self, rank: Rank, begun: Instant) {
        if rank.own_work
            && let Some(limit) = self.requests.served(begun.elapsed())
        {
            self.traffic.inbound_limit(limit);
        }
    }

    fn class_of(&self, request: &Request) -> RequestClass {
        if request.uri().path().starts_with("/health/") {
            return RequestClass::Health;
        }
        let route = request.extensions().get::<MatchedPath>();
        route.map_or(RequestClass::Ordinary, |route| (self.limits.rules.class_of)(route.as_str()))
    }

    /// What can be said without the body.
    fn admit(
        &self,
        class: RequestClass,
        client: &Client,
        request: &Request,
        priority: Priority,
    ) -> Result<(), Problem> {
        if class == RequestClass::Health {
            return Ok(());
        }
        let refused = if client.health_only {
            Some(ShedReason::Limit)
        } else {
            self.lifecycle.is_draining().then_some(ShedReason::Draining)
        };
        if let Some(reason) = refused {
            self.tell_shed(priority, reason);
            return Err(Problem::new(Code::Overloaded));
        }
        check_headers(request, client.is_connected())?;
        // What a payment system tells is signed, and may come through any name.
        if class != RequestClass::Callback {
            self.limits.origin.check(request)?;
        }
        if request.body().is_end_stream() {
            return Ok(());
        }
        (self.limits.rules.first_look)(request.uri().path(), request.headers())
    }

    /// `None`: no limit, since a service that is full is still alive.
    const fn limit_of(&self, class: RequestClass) -> Option<&ConcurrencyLimit> {
        match class {
            RequestClass::Ordinary => Some(&self.requests),
            RequestClass::LongPoll => Some(&self.long_polls),
            RequestClass::Callback => Some(&self.callbacks),
            RequestClass::Health => None,
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
    let rank = layer.rank_of(method, route);
    if let Some(refusal) = layer.shed(&request, method, route, rank.priority) {
        return refusal;
    }
    let span = request_span(method, route);
    let (uri, headers) = (request.uri(), request.headers());
    let (mut context, valid) =
        RequestContext::new(uri, headers, &span, &*layer.entropy, layer.limits.timeout);
    context.priority = rank.priority;
    let (request_id, trace_id) = (&context.request_id, context.trace.trace_id());
    // Both at once: the log writes a span's fields anew for each act of recording.
    let request_id = request_id.to_str().unwrap_or_default();
    tracing::record_all!(span, request_id = request_id, trace_id = trace_id);
    let mut meter = RequestMeter::start(&*layer.traffic, method, route, (&span, trace_id));
    request.extensions_mut().insert(context.clone());
    let client = Client::of(&request);
    let answer = async {
        let answer = match valid {
            Ok(()) => layer.serve(&context, request, next, &client, rank).await,
            Err(problem) => problem.into_response(),
        };
        let (answer, code) = client.finish(answer, &context, layer.lifecycle.is_stopping());
        meter.finish(answer.status(), code);
        answer
    };
    answer.instrument(span.clone()).await
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
