//! Replies on their way out: a problem gets its body, every reply the common headers, and the right to be
//! held in memory until its client has read it.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::connections::{ClientBytes, HealthOnly, HeldReply};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::request_context::{RequestContext, X_REQUEST_ID};
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Version};
use std::sync::Arc;

/// What is known of a client before its request is served.
#[derive(Debug)]
pub(super) struct Client {
    /// `None` where no connection stands behind the request.
    bytes: Option<Arc<ClientBytes>>,
    /// All seats are taken: it was let in to ask for health.
    pub(super) health_only: bool,
    /// HTTP/1 is told in each reply that the connection will be closed, HTTP/2 by a frame.
    told_by_header: bool,
}

impl Client {
    pub(super) fn of(request: &Request) -> Self {
        Self {
            bytes: request.extensions().get::<Arc<ClientBytes>>().cloned(),
            health_only: request.extensions().get::<HealthOnly>().is_some(),
            told_by_header: request.version() < Version::HTTP_2,
        }
    }

    pub(super) const fn is_connected(&self) -> bool {
        self.bytes.is_some()
    }

    /// The reply as it goes out, and the code of its problem if it is one.
    pub(super) fn finish(
        &self,
        mut answer: Response,
        context: &RequestContext,
        stopping: bool,
    ) -> (Response, Option<Code>) {
        let problem = answer.extensions_mut().remove::<Problem>();
        let problem = problem.or_else(|| {
            let full = self.hold(&mut answer)?;
            answer = full.status.into_response();
            Some(full)
        });
        if let Some(problem) = &problem {
            log_cause(problem);
            write_problem(problem, context, &mut answer);
        }
        let code = problem.map(|problem| problem.code);
        let headers = answer.headers_mut();
        headers.insert(X_REQUEST_ID, context.request_id.clone());
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        // Of a body that did not come the rest would be taken for the next request.
        let closing = stopping || self.health_only || code == Some(Code::RequestTimeout);
        if closing && self.told_by_header {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        (answer, code)
    }

    /// A refusal where too much waits already to be read.
    fn hold(&self, answer: &mut Response) -> Option<Problem> {
        let bytes = usize::try_from(answer.body().size_hint().lower()).unwrap_or(usize::MAX);
        let client = self.bytes.as_ref().filter(|_| bytes > 0)?;
        let Some(held) = client.try_hold(bytes) else {
            return Some(Problem::new(Code::Overloaded));
        };
        answer.extensions_mut().insert(HeldReply(Arc::new(held)));
        None
    }
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
