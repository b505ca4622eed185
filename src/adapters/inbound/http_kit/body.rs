//! Bodies of requests as handlers want them: bytes, or JSON.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::incoming::RefusedBody;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::unique_json::UniqueJson;
use crate::adapters::inbound::http_kit::violations::NOT_JSON;
use axum::extract::{FromRequest, Request};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http_body_util::BodyExt;
use serde_json::Value;

const TWICE: Text = Text::new("names a member twice", "называет одно поле дважды");

/// The bytes of a body, whatever they are.
#[derive(Debug)]
pub struct RawBody(pub Vec<u8>);

/// A body that must be JSON.
#[derive(Debug)]
pub struct Json(pub Value);

/// A body that may be left out.
#[derive(Debug)]
pub struct OptionalJson(pub Option<Value>);

/// The request's layer has taken it in, or knows why not.
impl<S: Send + Sync> FromRequest<S> for RawBody {
    type Rejection = Problem;

    async fn from_request(mut request: Request, _: &S) -> Result<Self, Problem> {
        if let Some(RefusedBody(problem)) = request.extensions_mut().remove() {
            return Err(problem);
        }
        let whole = request.into_body().collect().await;
        let whole = whole.map_err(|_| Problem::internal("a route without a request layer"))?;
        Ok(Self(whole.to_bytes().into()))
    }
}

impl<S: Send + Sync> FromRequest<S> for Json {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let is_json = is_json(request.headers());
        let RawBody(bytes) = RawBody::from_request(request, state).await?;
        if !is_json {
            return Err(Problem::new(Code::UnsupportedMediaType));
        }
        parse(&bytes).map(Self)
    }
}

impl<S: Send + Sync> FromRequest<S> for OptionalJson {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let is_json = is_json(request.headers());
        let RawBody(bytes) = RawBody::from_request(request, state).await?;
        if bytes.is_empty() {
            return Ok(Self(None));
        }
        if !is_json {
            return Err(Problem::new(Code::UnsupportedMediaType));
        }
        parse(&bytes).map(|value| Self(Some(value)))
    }
}

/// Declared as JSON and not packed: we unpack nothing, so that a small body stays small.
fn is_json(headers: &HeaderMap) -> bool {
    if headers.get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
        return false;
    }
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = declared.and_then(|value| value.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

fn parse(bytes: &[u8]) -> Result<Value, Problem> {
    let UniqueJson(value) = serde_json::from_slice(bytes)
        .map_err(|error| invalid(if error.is_data() { TWICE } else { NOT_JSON }))?;
    Ok(value)
}

fn invalid(detail: Text) -> Problem {
    Problem::new(Code::InvalidRequest).with_violation(JsonPointer::Root, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderValue, StatusCode};

    #[test]
    fn a_member_that_is_given_twice_says_two_things() {
        assert!(parse(br#"{"amount":{"amount":1,"currency":"RUB"}}"#).is_ok());
        let problem = parse(br#"{"amount":{"amount":1,"amount":2}}"#).unwrap_err();
        assert_eq!(problem.status, StatusCode::BAD_REQUEST);
    }

    #[test]
    fn json_is_recognised_by_its_essence() {
        let is_json = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(value));
            super::is_json(&headers)
        };
        assert!(is_json("Application/JSON ; charset=utf-8"));
        assert!(!is_json("text/plain"));
        assert!(!is_json("application/jsonp"));
        assert!(!super::is_json(&HeaderMap::new()));
        let mut packed = HeaderMap::new();
        packed.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        packed.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(!super::is_json(&packed));
    }
}
