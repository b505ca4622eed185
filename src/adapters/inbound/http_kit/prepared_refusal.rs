//! The answer to whoever is not let in, made once. Past saturation most requests get it, so it must cost
//! next to nothing: what it cost would be missing from those that are served.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::lang::Lang;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::problem_body::ProblemContext;
use axum::body::{Body, Bytes};
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, VARY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue, StatusCode};

/// A problem in both languages. Its body says neither path nor trace, which differ from request to request;
/// the request's id is in the headers.
#[derive(Debug)]
pub struct PreparedRefusal {
    status: StatusCode,
    headers: HeaderMap,
    english: Bytes,
    russian: Bytes,
}

impl PreparedRefusal {
    pub fn new(code: Code) -> Self {
        let problem = Problem::new(code);
        let body = |lang| {
            let context = ProblemContext { lang, instance: None, trace_id: None };
            Bytes::from(problem.body(context))
        };
        let mut headers = HeaderMap::new();
        let mut put = |name, value| headers.insert(name, HeaderValue::from_static(value));
        put(CONTENT_TYPE, "application/problem+json");
        put(VARY, "accept-language");
        put(X_CONTENT_TYPE_OPTIONS, "nosniff");
        put(CACHE_CONTROL, "no-store");
        if let Some(seconds) = problem.retry_after_secs() {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        let (english, russian) = (body(Lang::En), body(Lang::Ru));
        Self { status: problem.status, headers, english, russian }
    }

    pub fn answer(&self, lang: Lang) -> Response {
        let body = match lang {
            Lang::En => &self.english,
            Lang::Ru => &self.russian,
        };
        let mut response = Response::new(Body::from(body.clone()));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        response
    }
}
