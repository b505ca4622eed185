//! Bodies of requests: taken in within a limit in bytes, and read as JSON where they must be.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::unique_json::UniqueJson;
use crate::adapters::inbound::http_kit::violations::NOT_JSON;
use axum::body::{Body, HttpBody};
use axum::extract::{FromRef, FromRequest, Request};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, EXPECT};
use http_body_util::BodyExt;
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;

/// A connection closed on unread bytes is reset, and the client may never see its 413: so much of a
/// body that is too large is read away first, for so long.
const READ_AWAY_BYTES: usize = 1 << 20;
const READ_AWAY_TIME: Duration = Duration::from_secs(1);

const TWICE: Text = Text::new("names a member twice", "называет одно поле дважды");
const BROKE_OFF: Text = Text::new("broke off", "оборвалось");

/// `MAX_BODY_BYTES`.
#[derive(Debug, Clone, Copy)]
pub struct BodyLimit(pub usize);

/// The bytes of a body, whatever they are.
#[derive(Debug)]
pub struct RawBody(pub Vec<u8>);

/// A body that must be JSON.
#[derive(Debug)]
pub struct Json(pub Value);

/// A body that may be left out.
#[derive(Debug)]
pub struct OptionalJson(pub Option<Value>);

impl<S: Send + Sync> FromRequest<S> for RawBody
where
    BodyLimit: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let BodyLimit(limit) = BodyLimit::from_ref(state);
        let awaits_permission = request.headers().contains_key(EXPECT);
        read(request.into_body(), limit, awaits_permission).await.map(Self)
    }
}

impl<S: Send + Sync> FromRequest<S> for Json
where
    BodyLimit: FromRef<S>,
{
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

impl<S: Send + Sync> FromRequest<S> for OptionalJson
where
    BodyLimit: FromRef<S>,
{
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

async fn read(mut body: Body, limit: usize, awaits_permission: bool) -> Result<Vec<u8>, Problem> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit {
        if !awaits_permission {
            read_away(body).await;
        }
        return Err(Problem::new(Code::PayloadTooLarge));
    }
    let mut bytes = Vec::with_capacity(announced);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| invalid(BROKE_OFF))?.into_data() else { continue };
        if bytes.len() + data.len() > limit {
            read_away(body).await;
            return Err(Problem::new(Code::PayloadTooLarge));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

async fn read_away(mut body: Body) {
    let reading = async {
        let mut read = 0;
        while let Some(Ok(frame)) = body.frame().await {
            read += frame.data_ref().map_or(0, |data| data.len());
            if read > READ_AWAY_BYTES {
                return;
            }
        }
    };
    // Whether all of it came does not matter: the reply is the same.
    let _ = timeout(READ_AWAY_TIME, reading).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderValue, StatusCode};

    #[tokio::test]
    async fn a_body_is_taken_up_to_the_limit_and_not_a_byte_further() {
        assert_eq!(read(Body::from("1234"), 4, false).await.unwrap(), b"1234");
        let problem = read(Body::from("12345"), 4, false).await.unwrap_err();
        assert_eq!(problem.status, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_is_limited_as_well() {
        let chunks = futures_util::stream::iter((0..3).map(|_| Ok::<_, std::io::Error>("12")));
        let problem = read(Body::from_stream(chunks), 5, false).await.unwrap_err();
        assert_eq!(problem.status, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_too_large_and_never_ends_is_read_for_a_moment_only() {
        let endless = futures_util::stream::once(async { Ok::<_, std::io::Error>("123456") })
            .chain(futures_util::stream::pending());
        use futures_util::StreamExt;
        let problem = read(Body::from_stream(endless), 5, false).await.unwrap_err();
        assert_eq!(problem.status, StatusCode::PAYLOAD_TOO_LARGE);
    }

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
