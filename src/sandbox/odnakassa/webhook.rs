//! OdnaKassa's webhooks: signed over a time and the raw body, tried for a day.

use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use super::object;
use crate::sandbox::callbacks::{Form, Message, hmac_sha256_hex};
use crate::sandbox::clock::{rfc3339, wall_ms};
use crate::sandbox::order::{Event, Order, State};

const MINUTE: u64 = 60;

/// What OdnaKassa sends webhooks about. The object in it is as it was at the event.
pub fn voice(order: &Order, event: Event, now_ms: i64) -> Option<Message> {
    let kind = match event {
        Event::Held => "payment.authorized",
        Event::Paid => "payment.succeeded",
        Event::AttemptFailed if order.state != State::Declined => return None,
        Event::AttemptFailed | Event::Expired | Event::Cancelled | Event::Reversed => {
            "payment.canceled"
        }
        Event::Refunded => "refund.succeeded",
    };
    Some(message(order, kind, now_ms))
}

/// A webhook of any type about that payment. It never shows the payer's URL, as none is pending any more.
pub fn message(order: &Order, kind: &str, now_ms: i64) -> Message {
    let event = json!({
        "id": format!("evt_{}", Uuid::new_v4().simple()),
        "type": kind,
        "created_at": rfc3339(now_ms),
        "data": object::payment(order, ""),
    });
    let number = order.asked.number.clone();
    Message { number, kind: kind.to_owned(), form: Arc::new(Webhook(event)) }
}

#[derive(Debug)]
struct Webhook(Value);

impl Form for Webhook {
    fn waits(&self) -> &'static [Duration] {
        const WAITS: [Duration; 7] = [
            Duration::from_secs(10),
            Duration::from_secs(MINUTE),
            Duration::from_secs(5 * MINUTE),
            Duration::from_secs(30 * MINUTE),
            Duration::from_secs(120 * MINUTE),
            Duration::from_secs(360 * MINUTE),
            Duration::from_secs(1440 * MINUTE),
        ];
        &WAITS
    }

    fn is_delivered_by(&self, status: StatusCode) -> bool {
        status.is_success()
    }

    fn request(&self, client: &Client, url: &str, secret: Option<&str>) -> RequestBuilder {
        let body = self.0.to_string();
        let signature = signature(secret.unwrap_or_default(), wall_ms() / 1000, body.as_bytes());
        client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header("OdnaKassa-Signature", signature)
            .body(body)
    }
}

/// `OdnaKassa-Signature` of a body at a Unix time.
fn signature(secret: &str, unix_seconds: i64, body: &[u8]) -> String {
    let time = unix_seconds.to_string();
    format!("t={time},v1={}", hmac_sha256_hex(secret, &[time.as_bytes(), b".", body]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_covers_time_and_raw_body() {
        let body = br#"{"id":"evt_1","type":"payment.succeeded"}"#;
        let expected =
            "t=1764500000,v1=bd9e56a40245652c71e1b6b8a0c7ef6619285e5537196b11d82890c74cbcb9a3";
        assert_eq!(signature("whsec-test", 1_764_500_000, body), expected);
    }
}
