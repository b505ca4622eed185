//! A callback on its way: what it says is its partner's own, and so is how often it is tried.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use reqwest::{Client, RequestBuilder, StatusCode};
use sha2::Sha256;

/// A callback that is ready to be signed and sent.
#[derive(Debug, Clone)]
pub struct Message {
    /// The order's number, for the book of callbacks.
    pub number: String,
    /// `deposited`, `payment.succeeded`, …
    pub kind: String,
    pub form: Arc<dyn Form>,
}

/// A callback as its protocol words, signs and repeats it.
pub trait Form: fmt::Debug + Send + Sync {
    /// The documented waits after the first, second, … failed try; when they are used up, so is the patience.
    fn waits(&self) -> &'static [Duration];

    /// Whether that answer ends the delivery.
    fn is_delivered_by(&self, status: StatusCode) -> bool;

    /// Signed anew at every try, as a signature may contain the time.
    fn request(&self, client: &Client, url: &str, secret: Option<&str>) -> RequestBuilder;
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

/// Over the parts in a row, in small letters.
pub fn hmac_sha256_hex(secret: &str, parts: &[&[u8]]) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}
