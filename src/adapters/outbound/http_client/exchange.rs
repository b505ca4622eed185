//! One exchange with a partner: counted, traced, bounded, its failure told in the core's words.

use super::retry_after::retry_after;
use crate::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use crate::adapters::observe::spans;
use crate::adapters::resilience::retry::resends;
use crate::adapters::resilience::trail;
use crate::core::domain::unavailable::{Cause, NotExecuted, Unknown};
use crate::core::ports::trace::TraceParent;
use http::{Method, StatusCode};
use reqwest::{Request, RequestBuilder, Response, Url};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;
use tracing::field::Empty;
use tracing::{Instrument, Span};

/// No partner has a reason to say more; a longer answer is not read to its end.
pub const MAX_BODY_BYTES: usize = 256 * 1024;

/// A client of its own for one partner: nothing is shared with another's outage.
#[derive(Debug, Clone)]
pub struct PartnerClient {
    inner: reqwest::Client,
    /// For the metrics.
    server: Arc<str>,
    events: Arc<dyn AdapterEvents>,
}

impl PartnerClient {
    pub(super) fn new(
        inner: reqwest::Client,
        server: &str,
        events: Arc<dyn AdapterEvents>,
    ) -> Self {
        Self { inner, server: server.into(), events }
    }

    pub fn get(&self, url: impl reqwest::IntoUrl) -> RequestBuilder {
        self.inner.get(url)
    }

    pub fn post(&self, url: impl reqwest::IntoUrl) -> RequestBuilder {
        self.inner.post(url)
    }

    /// One attempt, under a span of its own, with a `traceparent` that names it.
    ///
    /// # Errors
    /// The cause, without a word of the library's text: that names URLs.
    pub async fn send(
        &self,
        request: RequestBuilder,
        trace: Option<&TraceParent>,
    ) -> Result<PartnerReply, Cause> {
        let mut request = request.build().map_err(|error| cause_of(&error))?;
        let mut exchange = Exchange::begin(self, &request);
        let name = spans::trace_parent_of(&exchange.span).unwrap_or_else(|| child_of(trace));
        if let Ok(trace_id) = u128::from_str_radix(name.trace_id(), 16) {
            trail::leave(trace_id);
        }
        if let Ok(value) = name.as_str().parse() {
            request.headers_mut().insert("traceparent", value);
        }
        let sent = self.inner.execute(request).instrument(exchange.span.clone()).await;
        let sent = sent.map_err(|error| cause_of(&error));
        exchange.end = Some(sent.as_ref().map(Response::status).map_err(|cause| *cause));
        let response = sent?;
        let retry_after = retry_after(response.headers(), SystemTime::now());
        Ok(PartnerReply { status: response.status(), retry_after, response })
    }
}

/// An exchange under way; told when it is over, also when nobody waits for it any more.
struct Exchange<'a> {
    client: &'a PartnerClient,
    method: &'static str,
    span: Span,
    begun: Instant,
    end: Option<Result<StatusCode, Cause>>,
}

impl<'a> Exchange<'a> {
    fn begin(client: &'a PartnerClient, request: &Request) -> Self {
        let method = if *request.method() == Method::POST { "POST" } else { "GET" };
        let resends = resends();
        let span = tracing::info_span!(
            "http.client",
            otel.name = method,
            otel.kind = "client",
            http.request.method = method,
            http.request.resend_count = (resends > 0).then_some(resends),
            url.full = without_query(request.url()),
            server.address = &*client.server,
            server.port = request.url().port_or_known_default(),
            http.response.status_code = Empty,
            "error.type" = Empty,
            otel.status_code = Empty,
        );
        Self { client, method, span, begun: Instant::now(), end: None }
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        let status = self.end.and_then(Result::ok);
        let failure = match self.end {
            Some(Ok(_)) => None,
            Some(Err(cause)) => Some(cause.as_str()),
            None => Some("cancelled"),
        };
        if let Some(status) = status {
            self.span.record("http.response.status_code", status.as_u16());
        }
        let refused = status.filter(|status| status.is_client_error() || status.is_server_error());
        // That the caller gave up is no error of the exchange.
        let failed = self.end.and(failure);
        if let Some(kind) = failed.or(refused.as_ref().map(StatusCode::as_str)) {
            self.span.record("error.type", kind).record("otel.status_code", "ERROR");
        }
        self.client.events.tell(&AdapterEvent::Exchanged {
            server: Arc::clone(&self.client.server),
            method: self.method,
            status: status.map(|status| status.as_u16()),
            failure,
            took: self.begun.elapsed(),
        });
    }
}

/// What came back, its body not read yet.
#[derive(Debug)]
pub struct PartnerReply {
    pub status: StatusCode,
    /// How long the partner asks us to stay away.
    pub retry_after: Option<Duration>,
    response: Response,
}

impl PartnerReply {
    /// The whole body.
    ///
    /// # Errors
    /// [`Unknown::Unreadable`] when it is longer than [`MAX_BODY_BYTES`], else why it ended early.
    pub async fn body(mut self) -> Result<Vec<u8>, Cause> {
        let mut body = Vec::new();
        while let Some(chunk) = self.response.chunk().await.map_err(|error| cause_of(&error))? {
            if body.len() + chunk.len() > MAX_BODY_BYTES {
                return Err(Cause::Unknown(Unknown::Unreadable));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// No partner is told secrets in a path.
fn without_query(url: &Url) -> &str {
    url.as_str().split(['?', '#']).next().unwrap_or_default()
}

/// Whether a byte of the request may have been written decides everything: a connection that was
/// never made (DNS, refused, TLS, its own timeout) is the one harmless failure.
pub(super) fn cause_of(error: &reqwest::Error) -> Cause {
    if error.is_connect() || error.is_builder() {
        Cause::NotExecuted(NotExecuted::Unreachable)
    } else if error.is_timeout() {
        Cause::Unknown(Unknown::TimedOut)
    } else {
        Cause::Unknown(Unknown::Broken)
    }
}

/// The caller's trace with this attempt as the parent of what the partner does, or a new trace.
fn child_of(trace: Option<&TraceParent>) -> TraceParent {
    let span_id = fastrand::u64(1..);
    match trace {
        Some(parent) => parent.child(span_id),
        None => TraceParent::new(fastrand::u128(1..), span_id),
    }
}
