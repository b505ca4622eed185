//! OdnaKassa's webhooks: signed over the raw bytes and a time, numbered, delivered at least once and
//! in any order. A hint all the same: the payment is asked for.

use super::wire::is_name;
use crate::adapters::outbound::signature::hmac_sha256_matches;
use crate::core::domain::provider::ProviderNumber;
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::payment::{Callback, CallbackError, RawCallback};
use secrecy::SecretString;
use serde::Deserialize;

/// How far the signed time may be from ours: an old message is a replay.
const WINDOW_SECONDS: u64 = 300;

/// Two while keys rotate; more is somebody who tries.
const MOST_SIGNATURES: usize = 8;

const LONGEST_KIND: usize = 64;

pub(super) fn read(
    raw: &RawCallback<'_>,
    secrets: &[SecretString],
    now: Timestamp,
) -> Result<Callback, CallbackError> {
    if !raw.post {
        return Err(CallbackError::Malformed("webhooks come by POST"));
    }
    if !secrets.is_empty() && !signed(raw, secrets, now) {
        return Err(CallbackError::SignatureInvalid);
    }
    let event: Event =
        serde_json::from_slice(raw.body).map_err(|_| CallbackError::Malformed("not an event"))?;
    let kind = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_';
    if !is_name(&event.id) {
        return Err(CallbackError::Malformed("id"));
    }
    if !is_name(&event.data.order_id) {
        return Err(CallbackError::Malformed("order_id"));
    }
    if !(1..=LONGEST_KIND).contains(&event.kind.len()) || !event.kind.bytes().all(kind) {
        return Err(CallbackError::Malformed("type"));
    }
    Ok(Callback {
        number: ProviderNumber::told(&event.data.order_id),
        event_id: Some(event.id),
        kind: event.kind,
        signed: !secrets.is_empty(),
    })
}

#[derive(Deserialize)]
struct Event {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    order_id: String,
}

/// `t=<unix>,v1=<hex>[,v1=<hex>]`: one of the signatures, by one of our secrets, in time.
fn signed(raw: &RawCallback<'_>, secrets: &[SecretString], now: Timestamp) -> bool {
    let Some((time, signatures)) = raw.signature.and_then(parse) else {
        return false;
    };
    let seconds = now.micros().div_euclid(1_000_000);
    let fresh = time.parse::<i64>().is_ok_and(|sent| sent.abs_diff(seconds) <= WINDOW_SECONDS);
    let parts = [time.as_bytes(), b".", raw.body];
    let matches = |signature: &&str| {
        secrets.iter().any(|secret| hmac_sha256_matches(secret, &parts, signature))
    };
    fresh && signatures.iter().any(matches)
}

fn parse(header: &str) -> Option<(&str, Vec<&str>)> {
    let mut time = None;
    let mut signatures = Vec::new();
    for part in header.split(',') {
        match part.trim().split_once('=')? {
            ("t", _) if time.is_some() => return None,
            ("t", value) => time = Some(value),
            ("v1", _) if signatures.len() == MOST_SIGNATURES => return None,
            ("v1", value) => signatures.push(value),
            // Room for a scheme to come.
            (_, _) => {}
        }
    }
    Some((time?, signatures))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: i64 = 1_764_500_000;
    const VECTOR: &str = r#"{"id":"evt_1","type":"payment.succeeded"}"#;
    const VECTOR_SIGNATURE: &str =
        "bd9e56a40245652c71e1b6b8a0c7ef6619285e5537196b11d82890c74cbcb9a3";
    const EVENT: &str =
        r#"{"id":"evt_1","type":"payment.succeeded","data":{"order_id":"A-01","x":1},"y":2}"#;

    fn read_at(
        seconds: i64,
        header: Option<&str>,
        body: &str,
        secrets: &[&str],
    ) -> Result<Callback, CallbackError> {
        let raw = RawCallback { post: true, query: "", signature: header, body: body.as_bytes() };
        let secrets: Vec<_> = secrets.iter().copied().map(SecretString::from).collect();
        read(&raw, &secrets, Timestamp::from_micros(seconds * 1_000_000))
    }

    #[test]
    fn the_published_signature_is_accepted() {
        let header = format!("t={SENT},v1={VECTOR_SIGNATURE}");
        let read = read_at(SENT, Some(&header), VECTOR, &["whsec-test"]);
        assert_eq!(read, Err(CallbackError::Malformed("not an event")), "it names no order");
    }

    #[test]
    fn either_key_is_good_while_keys_rotate() {
        let zeros = "00".repeat(32);
        let both = format!("t={SENT},v1={zeros},v1={VECTOR_SIGNATURE}");
        for secrets in [["whsec-test", "new"], ["new", "whsec-test"]] {
            let read = read_at(SENT, Some(&both), VECTOR, &secrets);
            assert_eq!(read, Err(CallbackError::Malformed("not an event")));
        }
    }

    #[test]
    fn a_signature_is_good_for_five_minutes_either_way() {
        let header = format!("t={SENT},v1={VECTOR_SIGNATURE}");
        let read = |seconds| read_at(seconds, Some(&header), VECTOR, &["whsec-test"]);
        for off in [-300, 300] {
            assert_eq!(read(SENT + off), Err(CallbackError::Malformed("not an event")));
        }
        for off in [-301, 301] {
            assert_eq!(read(SENT + off), Err(CallbackError::SignatureInvalid));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let good = format!("t={SENT},v1={VECTOR_SIGNATURE}");
        let many = format!("t={SENT}{},v1={VECTOR_SIGNATURE}", ",v1=00".repeat(8));
        for (header, body, secret) in [
            (None, VECTOR, "whsec-test"),
            (Some(""), VECTOR, "whsec-test"),
            (Some("t=1764500000"), VECTOR, "whsec-test"),
            (Some(&*format!("v1={VECTOR_SIGNATURE}")), VECTOR, "whsec-test"),
            (Some(&*format!("{good},t=1")), VECTOR, "whsec-test"),
            (Some(&*format!("t=01764500000,v1={VECTOR_SIGNATURE}")), VECTOR, "whsec-test"),
            (Some(&*many), VECTOR, "whsec-test"),
            (Some(&*good), EVENT, "whsec-test"),
            (Some(&*good), VECTOR, "other"),
        ] {
            let read = read_at(SENT, header, body, &[secret]);
            assert_eq!(read, Err(CallbackError::SignatureInvalid), "{header:?}");
        }
    }

    #[test]
    fn an_event_names_itself_its_kind_and_our_number() {
        let callback = read_at(SENT, None, EVENT, &[]).unwrap();
        assert_eq!(callback.number.as_str(), "A-01");
        assert_eq!(callback.event_id.as_deref(), Some("evt_1"));
        assert_eq!((callback.kind.as_str(), callback.signed), ("payment.succeeded", false));
    }

    #[test]
    fn nonsense_is_no_event() {
        for body in [
            "",
            "[]",
            VECTOR,
            r#"{"id":"","type":"a","data":{"order_id":"A-01"}}"#,
            r#"{"id":"evt 1","type":"a","data":{"order_id":"A-01"}}"#,
            r#"{"id":"evt_1","type":"a b","data":{"order_id":"A-01"}}"#,
            r#"{"id":"evt_1","type":"a","data":{"order_id":"A/01"}}"#,
        ] {
            assert!(matches!(read_at(SENT, None, body, &[]), Err(CallbackError::Malformed(_))));
        }
        let get = RawCallback { post: false, query: "", signature: None, body: EVENT.as_bytes() };
        let now = Timestamp::from_micros(0);
        assert!(matches!(read(&get, &[], now), Err(CallbackError::Malformed(_))));
    }
}
