//! Sber's callbacks: a GET with a checksum in the classic generation, an unsigned POST in the other.

use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::JSON;
use crate::sandbox::callbacks::{Form, Message, encoded, hmac_sha256_hex};
use crate::sandbox::order::{Event, Order};

const MINUTE: u64 = 60;

/// What Sber calls back about, and how.
pub fn voice(order: &Order, event: Event, _now_ms: i64) -> Option<Message> {
    let (operation, failed) = match event {
        Event::Held => ("approved", false),
        Event::Paid => ("deposited", false),
        Event::AttemptFailed if order.asked.two_stage => ("approved", true),
        Event::AttemptFailed => ("deposited", true),
        Event::Expired => ("declinedByTimeout", true),
        Event::Reversed => ("reversed", false),
        Event::Refunded => ("refunded", false),
        // No callback is documented for an order that the merchant himself called off.
        Event::Cancelled => return None,
    };
    Some(message(order, operation, failed))
}

/// A callback of any content about that order.
pub fn message(order: &Order, operation: &str, failed: bool) -> Message {
    let (number, status) = (&order.asked.number, i64::from(!failed));
    let form: Arc<dyn Form> = if order.asked.protocol == JSON {
        Arc::new(Body(json!({
            "mdOrder": order.id, "orderNumber": number, "operation": operation, "status": status,
            "additionalParams": Value::Object(Default::default()),
        })))
    } else {
        Arc::new(Query(vec![
            ("mdOrder".into(), order.id.clone()),
            ("orderNumber".into(), number.clone()),
            ("operation".into(), operation.to_owned()),
            ("status".into(), status.to_string()),
        ]))
    };
    Message { number: number.clone(), kind: operation.to_owned(), form }
}

/// The classic generation: a GET with these parameters and a checksum.
#[derive(Debug)]
struct Query(Vec<(String, String)>);

impl Form for Query {
    fn waits(&self) -> &'static [Duration] {
        const WAITS: [Duration; 5] = [
            Duration::from_secs(10 * MINUTE),
            Duration::from_secs(20 * MINUTE),
            Duration::from_secs(30 * MINUTE),
            Duration::from_secs(40 * MINUTE),
            Duration::from_secs(50 * MINUTE),
        ];
        &WAITS
    }

    fn is_delivered_by(&self, status: StatusCode) -> bool {
        status == StatusCode::OK
    }

    fn request(&self, client: &Client, url: &str, secret: Option<&str>) -> RequestBuilder {
        let checksum = secret.map(|secret| ("checksum".into(), checksum(secret, &self.0)));
        let query: Vec<_> = self.0.iter().cloned().chain(checksum).collect();
        let query: Vec<_> =
            query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        client.get(format!("{url}?{}", query.join("&")))
    }
}

/// The JSON generation: a POST that nothing signs.
#[derive(Debug)]
struct Body(Value);

impl Form for Body {
    fn waits(&self) -> &'static [Duration] {
        const WAITS: [Duration; 2] = [Duration::from_secs(MINUTE); 2];
        &WAITS
    }

    fn is_delivered_by(&self, status: StatusCode) -> bool {
        status == StatusCode::OK
    }

    fn request(&self, client: &Client, url: &str, _: Option<&str>) -> RequestBuilder {
        client.post(url).header(CONTENT_TYPE, "application/json").body(self.0.to_string())
    }
}

/// The symmetric checksum: parameters sorted by name, `name;value;` each, HMAC-SHA256, upper-case hex.
fn checksum(secret: &str, parameters: &[(String, String)]) -> String {
    let mut sorted: Vec<_> = parameters.iter().collect();
    sorted.sort();
    let line: String = sorted.iter().map(|(name, value)| format!("{name};{value};")).collect();
    hmac_sha256_hex(secret, &[line.as_bytes()]).to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_checksum_is_taken_over_sorted_parameters() {
        let parameters = parameters(&[
            ("status", "1"),
            ("orderNumber", "01JDTESTORDER0000000000001-01"),
            ("mdOrder", "6f0c1f0e-0000-4000-8000-000000000001"),
            ("operation", "deposited"),
        ]);
        let expected = "DD0CA0D01840EC77DF071F48090D6E745DDBF3837E51056EF6953EF75259B16A";
        assert_eq!(checksum("osvc-test-key", &parameters), expected);
    }

    #[test]
    fn extra_parameters_take_part_in_the_checksum() {
        let parameters = parameters(&[
            ("amount", "19900"),
            ("mdOrder", "6f0c1f0e-0000-4000-8000-000000000001"),
            ("operation", "declinedByTimeout"),
            ("orderNumber", "01JDTESTORDER0000000000001-01"),
            ("status", "0"),
        ]);
        let expected = "A6B0B47F9AE4B55DEAECB65214DDF116E727B9A75F8A72002EAABDC41DCB6698";
        assert_eq!(checksum("osvc-test-key", &parameters), expected);
    }
}
