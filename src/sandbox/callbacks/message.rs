//! The three forms of a callback, each as its protocol writes it, with its own idea of retries.

use std::time::Duration;

use http::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::Value;

use super::sign::{checksum, webhook_signature};
use crate::sandbox::clock::wall_ms;

/// A callback that is ready to be signed and sent.
#[derive(Debug, Clone)]
pub struct Message {
    /// The order's number, for the book of callbacks.
    pub number: String,
    /// `deposited`, `payment.succeeded`, …
    pub kind: String,
    pub form: Form,
}

#[derive(Debug, Clone)]
pub enum Form {
    /// Classic Sber: a GET with these parameters and a checksum.
    Query(Vec<(String, String)>),
    /// Sber's JSON generation: an unsigned POST.
    Json(Value),
    /// OdnaKassa: a POST signed in a header.
    Webhook(Value),
}

impl Message {
    /// The documented waits after the first, second, … failed try; when they are used up, so is the patience.
    pub fn waits(&self) -> &'static [Duration] {
        const MINUTE: u64 = 60;
        const CLASSIC: [Duration; 5] = [
            Duration::from_secs(10 * MINUTE),
            Duration::from_secs(20 * MINUTE),
            Duration::from_secs(30 * MINUTE),
            Duration::from_secs(40 * MINUTE),
            Duration::from_secs(50 * MINUTE),
        ];
        const JSON: [Duration; 2] = [Duration::from_secs(MINUTE); 2];
        const WEBHOOK: [Duration; 7] = [
            Duration::from_secs(10),
            Duration::from_secs(MINUTE),
            Duration::from_secs(5 * MINUTE),
            Duration::from_secs(30 * MINUTE),
            Duration::from_secs(120 * MINUTE),
            Duration::from_secs(360 * MINUTE),
            Duration::from_secs(1440 * MINUTE),
        ];
        match self.form {
            Form::Query(_) => &CLASSIC,
            Form::Json(_) => &JSON,
            Form::Webhook(_) => &WEBHOOK,
        }
    }

    /// Whether that answer ends the delivery.
    pub fn is_delivered_by(&self, status: StatusCode) -> bool {
        match self.form {
            Form::Query(_) | Form::Json(_) => status == StatusCode::OK,
            Form::Webhook(_) => status.is_success(),
        }
    }

    /// Signed anew at every try, as the webhook's signature contains the time.
    pub fn request(
        &self,
        client: &Client,
        base: &str,
        secret: Option<&str>,
        forged: bool,
    ) -> RequestBuilder {
        let forged_secret = format!("not {}", secret.unwrap_or_default());
        let secret = if forged { Some(forged_secret.as_str()) } else { secret };
        let base = base.trim_end_matches('/');
        match &self.form {
            Form::Query(parameters) => {
                let mut query = parameters.clone();
                query
                    .extend(secret.map(|secret| ("checksum".into(), checksum(secret, parameters))));
                let query: Vec<_> = query
                    .iter()
                    .map(|(name, value)| format!("{name}={}", encoded(value)))
                    .collect();
                client.get(format!("{base}/v1/webhooks/sber?{}", query.join("&")))
            }
            Form::Json(body) => client
                .post(format!("{base}/v1/webhooks/sber"))
                .header(CONTENT_TYPE, "application/json")
                .body(body.to_string()),
            Form::Webhook(body) => {
                let body = body.to_string();
                let signature = webhook_signature(
                    secret.unwrap_or_default(),
                    wall_ms() / 1000,
                    body.as_bytes(),
                );
                client
                    .post(format!("{base}/v1/webhooks/odnakassa"))
                    .header(CONTENT_TYPE, "application/json")
                    .header("OdnaKassa-Signature", signature)
                    .body(body)
            }
        }
    }
}

/// Percent-encodes everything that is not unreserved in a URL.
pub fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
