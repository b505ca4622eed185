//! Bodies on their way in: taken in whole, within a limit in bytes and one in time, before their request
//! gets a permit. So a client that does not finish its body keeps nobody else outside.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::connections::{ClientBytes, HeldBytes};
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::Problem;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use http::header::EXPECT;
use http_body_util::BodyExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// A connection closed on unread bytes is reset, and the client may never see its 413: so much of a
/// body that is too large is read away first, for so long.
const READ_AWAY_BYTES: usize = 1 << 20;
const READ_AWAY_TIME: Duration = Duration::from_secs(1);

const BROKE_OFF: Text = Text::new("broke off", "оборвалось");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// `MAX_BODY_BYTES`.
    pub max_bytes: usize,
    /// `BODY_TIMEOUT`: from the request's head to the end of its body.
    pub timeout: Duration,
}

/// On a request whose body was not taken in: what its handler will answer if it wants the body.
#[derive(Debug, Clone)]
pub(super) struct RefusedBody(pub(super) Problem);

/// The request with its body in memory, or with the refusal of it; and the right to hold it.
pub(super) async fn take_in(
    request: Request,
    limits: BodyLimits,
    deadline: Instant,
) -> (Request, Option<HeldBytes>) {
    if request.body().is_end_stream() {
        return (request, None);
    }
    let awaits_permission = request.headers().contains_key(EXPECT);
    let client = request.extensions().get::<Arc<ClientBytes>>().cloned();
    let (mut parts, body) = request.into_parts();
    let (held, taken) = match client.map(|client| client.try_hold(most(&body, limits.max_bytes))) {
        Some(None) => (None, Err(Problem::new(Code::Overloaded))),
        Some(held @ Some(_)) => (held, Ok(())),
        None => (None, Ok(())),
    };
    let end = deadline.min(Instant::now() + limits.timeout);
    let taken = match taken {
        Ok(()) => timeout_at(end, read(body, limits.max_bytes, awaits_permission))
            .await
            .unwrap_or_else(|_elapsed| Err(Problem::new(Code::RequestTimeout))),
        Err(full) => Err(full),
    };
    let body = taken.unwrap_or_else(|problem| {
        parts.extensions.insert(RefusedBody(problem));
        Vec::new()
    });
    (Request::from_parts(parts, Body::from(body)), held)
}

/// So many bytes it may become.
fn most(body: &Body, max_bytes: usize) -> usize {
    let upper = body.size_hint().upper().map(|upper| usize::try_from(upper).unwrap_or(usize::MAX));
    upper.unwrap_or(max_bytes).min(max_bytes)
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
        let Ok(data) = frame.map_err(|_| broke_off())?.into_data() else { continue };
        if bytes.len() + data.len() > limit {
            read_away(body).await;
            return Err(Problem::new(Code::PayloadTooLarge));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

fn broke_off() -> Problem {
    Problem::new(Code::InvalidRequest).with_violation(JsonPointer::Root, BROKE_OFF)
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
    use futures_util::StreamExt;
    use http::StatusCode;

    const LIMITS: BodyLimits = BodyLimits { max_bytes: 5, timeout: Duration::from_secs(5) };

    async fn taken(body: Body) -> Result<Vec<u8>, StatusCode> {
        let deadline = Instant::now() + Duration::from_secs(20);
        let (mut request, _) = take_in(Request::new(body), LIMITS, deadline).await;
        if let Some(RefusedBody(problem)) = request.extensions_mut().remove() {
            return Err(problem.status);
        }
        Ok(request.into_body().collect().await.unwrap().to_bytes().to_vec())
    }

    fn endless(begin: &'static str) -> Body {
        let begin = futures_util::stream::once(async move { Ok::<_, std::io::Error>(begin) });
        Body::from_stream(begin.chain(futures_util::stream::pending()))
    }

    #[tokio::test]
    async fn a_body_is_taken_up_to_the_limit_and_not_a_byte_further() {
        assert_eq!(taken(Body::from("12345")).await.unwrap(), b"12345");
        assert_eq!(taken(Body::from("123456")).await, Err(StatusCode::PAYLOAD_TOO_LARGE));
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_is_limited_as_well() {
        let chunks = futures_util::stream::iter((0..3).map(|_| Ok::<_, std::io::Error>("12")));
        assert_eq!(taken(Body::from_stream(chunks)).await, Err(StatusCode::PAYLOAD_TOO_LARGE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_too_large_and_never_ends_is_read_for_a_moment_only() {
        let began = Instant::now();
        assert_eq!(taken(endless("123456")).await, Err(StatusCode::PAYLOAD_TOO_LARGE));
        assert_eq!(began.elapsed(), READ_AWAY_TIME);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_the_clients_fault() {
        let began = Instant::now();
        assert_eq!(taken(endless("1234")).await, Err(StatusCode::REQUEST_TIMEOUT));
        assert_eq!(began.elapsed(), LIMITS.timeout);
    }
}
