//! A partner's true reply, and all the ways in which the network and bad days disfigure it.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::stream;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, LOCATION, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

use super::callbacks::Receipt;
use super::fault::{Answer, ErrorCodeShape};

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
const PAGE: &str = "<!doctype html><html><head><title>Error</title></head><body><h1>The service is unavailable</h1></body></html>";
const HUGE_CHUNK: usize = 64 * 1024;

/// What the partner would say if nothing went wrong.
#[derive(Debug)]
pub struct SimulatedReply {
    pub status: StatusCode,
    pub content_type: &'static str,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// `None` is an empty body.
    pub body: Option<Value>,
    /// Whether something was created or changed.
    pub committed: bool,
    /// The reply in a word, for the ledger.
    pub said: String,
    /// The callbacks that the call caused.
    pub receipts: Vec<Receipt>,
}

impl SimulatedReply {
    pub fn json(status: StatusCode, body: Value, said: impl Into<String>) -> Self {
        Self {
            status,
            content_type: JSON,
            headers: Vec::new(),
            body: Some(body),
            committed: false,
            said: said.into(),
            receipts: Vec::new(),
        }
    }

    /// How the bank's front answers what never reached its programs.
    pub fn empty_page(status: StatusCode) -> Self {
        Self {
            status,
            content_type: "text/html",
            headers: Vec::new(),
            body: None,
            committed: false,
            said: format!("http {}", status.as_u16()),
            receipts: Vec::new(),
        }
    }

    /// For a call that a fault kept from the partner, and whose fault names no answer of its own.
    pub fn unheard() -> Self {
        Self { said: "not executed".into(), ..Self::empty_page(StatusCode::INTERNAL_SERVER_ERROR) }
    }

    #[must_use]
    pub fn committed(mut self, receipts: Vec<Receipt>) -> Self {
        self.committed = true;
        self.receipts = receipts;
        self
    }

    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// The response as this answer disfigures it. `Hang` and `Drop` need the connection and are the
    /// frontend's work.
    pub fn disfigured(mut self, answer: Answer, shape: Option<ErrorCodeShape>) -> Response {
        if let Answer::ErrorCode(code) = answer {
            self.status = StatusCode::OK;
            self.content_type = JSON;
            self.body =
                Some(json!({"errorCode": code.to_string(), "errorMessage": "Системная ошибка"}));
        }
        if let (Some(shape), Some(Value::Object(members))) = (shape, &mut self.body) {
            reshape(members, shape);
        }
        match answer {
            Answer::Normal | Answer::Hang | Answer::Drop | Answer::ErrorCode(_) => {}
            Answer::DropMidBody => return self.broken_off(),
            Answer::Drip { chunk_bytes, interval_ms } => {
                return self.dripping(chunk_bytes.max(1), interval_ms);
            }
            Answer::Huge { bytes } => return response(StatusCode::OK, JSON, padding(bytes)),
            Answer::Empty => return response(StatusCode::OK, self.content_type, Body::empty()),
            Answer::Html => return response(StatusCode::OK, HTML, Body::from(PAGE)),
            Answer::Truncated => {
                let bytes = self.bytes();
                return response(
                    StatusCode::OK,
                    self.content_type,
                    Body::from(bytes.slice(..bytes.len() / 2)),
                );
            }
            Answer::Http { status, body, retry_after, location } => {
                return bare(status, body, retry_after, location);
            }
            Answer::Json { status, body } => {
                return response(status_of(status), JSON, Body::from(body.to_string()));
            }
            Answer::WrongTypes => self.body = self.body.map(mistyped),
            Answer::Without(members) => {
                if let Some(Value::Object(body)) = &mut self.body {
                    members.iter().for_each(|member| drop(body.remove(member)));
                }
            }
            Answer::Garbled => {
                let garbled = Body::from(garbled(&self.bytes()));
                return self.head(garbled);
            }
            Answer::RefusedByName => self.refuse_by_name(),
            Answer::PageAt(address) => {
                if let Some(body) = &mut self.body {
                    move_page(body, &address);
                }
            }
            Answer::Patch(patch) => {
                let body = self.body.get_or_insert(Value::Null);
                merge(body, patch);
            }
        }
        let body = Body::from(self.bytes());
        self.head(body)
    }

    /// In the words of whose body it is.
    fn refuse_by_name(&mut self) {
        let Some(body) = &mut self.body else { return };
        if body.get("orderId").is_some() {
            body["errorCode"] = "3".into();
        } else {
            let error = json!({"code": "invalid_request", "payment_id": body["id"]});
            self.status = StatusCode::BAD_REQUEST;
            *body = json!({"error": error});
        }
    }

    fn bytes(&self) -> Bytes {
        self.body.as_ref().map_or_else(Bytes::new, |body| Bytes::from(body.to_string()))
    }

    fn head(self, body: Body) -> Response {
        let mut response = response(self.status, self.content_type, body);
        response.headers_mut().extend(self.headers);
        response
    }

    fn broken_off(self) -> Response {
        let bytes = self.bytes();
        let length = bytes.len();
        let half = bytes.slice(..length / 2);
        let pieces = stream::unfold(Some(half), |half| async move {
            match half {
                Some(half) => Some((Ok(half), None)),
                None => {
                    // The pause lets the first half out before the break.
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    Some((Err(io::Error::from(io::ErrorKind::ConnectionReset)), None))
                }
            }
        });
        let mut response = self.head(Body::from_stream(pieces));
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
        response
    }

    fn dripping(self, chunk_bytes: usize, interval_ms: u64) -> Response {
        let bytes = self.bytes();
        let length = bytes.len();
        let drops = stream::unfold(bytes, move |mut rest| async move {
            if rest.is_empty() {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(interval_ms)).await;
            let drop = rest.split_to(chunk_bytes.min(rest.len()));
            Some((Ok::<_, Infallible>(drop), rest))
        });
        let mut response = self.head(Body::from_stream(drops));
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
        response
    }
}

fn response(status: StatusCode, content_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn bare(
    status: u16,
    body: Option<String>,
    retry_after: Option<u64>,
    location: Option<String>,
) -> Response {
    let mut response =
        response(status_of(status), HTML, Body::from(body.unwrap_or_else(|| PAGE.into())));
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(location) = location.and_then(|location| HeaderValue::from_str(&location).ok()) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn status_of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// So much valid JSON, made while it is sent.
fn padding(bytes: u64) -> Body {
    let chunk = Bytes::from(vec![b'a'; HUGE_CHUNK]);
    let pieces = stream::unfold((0_u64, false), move |(sent, closed)| {
        let chunk = chunk.clone();
        async move {
            let piece = match sent {
                0 => Bytes::from_static(b"{\"padding\":\""),
                _ if closed => return None,
                _ if sent >= bytes => {
                    return Some((Ok::<_, Infallible>(Bytes::from_static(b"\"}")), (sent, true)));
                }
                _ => chunk,
            };
            let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
            Some((Ok(piece), (sent + length, false)))
        }
    });
    Body::from_stream(pieces)
}

fn reshape(body: &mut Map<String, Value>, shape: ErrorCodeShape) {
    let code = match body.remove("errorCode") {
        Some(Value::String(code)) => code,
        Some(other) => other.to_string(),
        None => "0".into(),
    };
    let message = body.remove("errorMessage");
    let number = code.parse::<i64>().map_or_else(|_| Value::from(code.clone()), Value::from);
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(name.into(), value);
        }
    };
    match shape {
        ErrorCodeShape::String => {
            put("errorCode", Some(code.into()));
            put("errorMessage", message);
        }
        ErrorCodeShape::Number => {
            put("errorCode", Some(number));
            put("errorMessage", message);
        }
        ErrorCodeShape::Absent => put("errorMessage", message),
        ErrorCodeShape::Capitalised => {
            put("ErrorCode", Some(code.into()));
            put("ErrorMessage", message);
        }
        ErrorCodeShape::Nested => {
            put("success", Some((code == "0").into()));
            put("error", Some(json!({"code": number, "message": message})));
        }
    }
}

fn mistyped(value: Value) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(truth) => json!(truth.to_string()),
        Value::Number(number) => json!({"number": number}),
        Value::String(text) => json!(text.len()),
        Value::Array(items) => json!(items.len()),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, mistyped(value))).collect()
        }
    }
}

fn garbled(body: &[u8]) -> Vec<u8> {
    const BESIDE: &[u8] = b"\xEF\xBB\xBF{\"bank\":\"\xD1\xE1\xE5\xF0\",\"bank\":[1e999],\
        \"note\":\"\x00\x1B\\u0000\\ud83d\"";
    let rest = body.strip_prefix(b"{").unwrap_or(body);
    let comma: &[u8] = if rest.starts_with(b"}") { b"" } else { b"," };
    [BESIDE, comma, rest].concat()
}

/// The only addresses in a body are those of payment pages.
fn move_page(body: &mut Value, address: &str) {
    match body {
        Value::String(text) if text.starts_with("http") => address.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| move_page(item, address)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| move_page(member, address));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (name, value) in patch {
        if value.is_null() {
            target.remove(&name);
        } else {
            merge(target.entry(name).or_insert(Value::Null), value);
        }
    }
}
