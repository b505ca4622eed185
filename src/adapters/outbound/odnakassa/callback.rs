//! OdnaKassa's webhooks: signed over the raw bytes and a time, numbered, delivered at least once and
//! in any order. A hint all the same: the payment is asked for.

use super::wire::is_name;
use crate::adapters::outbound::signature::hmac_sha256_matches;
use crate::adapters::outbound::told::Told;
use crate::core::domain::provider::ProviderNumber;
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::payment::{Callback, CallbackError, RawCallback};
use secrecy::SecretString;

/// Two while keys rotate; more is somebody who tries.
const MOST_SIGNATURES: usize = 8;

const LONGEST_KIND: usize = 64;

pub(super) fn read(
    raw: &RawCallback<'_>,
    secrets: &[SecretString],
) -> Result<Callback, CallbackError> {
    if !raw.post {
        return Err(CallbackError::Malformed("webhooks come by POST"));
    }
    let signed_at = match secrets {
        [] => None,
        secrets => Some(signed_at(raw, secrets).ok_or(CallbackError::SignatureInvalid)?),
    };
    // What the partner did sign is an event of some sort, and not for us where it names no order.
    let refused = match signed_at {
        Some(_) => CallbackError::NotOurs,
        None => CallbackError::Malformed,
    };
    let event = Told::read(raw.body, &["id", "type", "data"]).ok_or(refused("not an event"))?;
    let payment = event.object("data", &["order_id"]).ok_or(refused("not an event"))?;
    let named = |text: Option<String>| text.filter(|text| is_name(text));
    let kind = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_';
    let kinds = |text: &String| (1..=LONGEST_KIND).contains(&text.len()) && text.bytes().all(kind);
    let id = named(event.text("id")).ok_or(refused("id"))?;
    let number = named(payment.text("order_id")).ok_or(refused("order_id"))?;
    let kind = event.text("type").filter(kinds).ok_or(refused("type"))?;
    let (number, signed) = (ProviderNumber::told(&number), signed_at.is_some());
    Ok(Callback { number, event_id: Some(id), kind, signed, signed_at })
}

/// The time in `t=<unix>,v1=<hex>[,v1=<hex>]`, if one of the signatures is by one of our secrets.
fn signed_at(raw: &RawCallback<'_>, secrets: &[SecretString]) -> Option<Timestamp> {
    let (time, signatures) = raw.signature.and_then(parse)?;
    let parts = [time.as_bytes(), b".", raw.body];
    let matches = |signature: &&str| {
        secrets.iter().any(|secret| hmac_sha256_matches(secret, &parts, signature))
    };
    let micros = time.parse::<i64>().ok()?.checked_mul(1_000_000)?;
    signatures.iter().any(matches).then(|| Timestamp::from_micros(micros))
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
    use crate::adapters::outbound::signature::hmac_sha256_hex;

    const SENT: i64 = 1_764_500_000;
    const VECTOR: &str = r#"{"id":"evt_1","type":"payment.succeeded"}"#;
    const VECTOR_SIGNATURE: &str =
        "bd9e56a40245652c71e1b6b8a0c7ef6619285e5537196b11d82890c74cbcb9a3";
    const EVENT: &str =
        r#"{"id":"evt_1","type":"payment.succeeded","data":{"order_id":"A-01","x":1},"y":2}"#;

    fn read_signed(
        header: Option<&str>,
        body: &str,
        secrets: &[&str],
    ) -> Result<Callback, CallbackError> {
        let raw = RawCallback { signature: header, ..by_post(body) };
        let secrets: Vec<_> = secrets.iter().copied().map(SecretString::from).collect();
        read(&raw, &secrets)
    }

    fn by_post(body: &str) -> RawCallback<'_> {
        RawCallback { post: true, form: false, query: "", signature: None, body: body.as_bytes() }
    }

    #[test]
    fn the_published_signature_is_accepted() {
        let header = format!("t={SENT},v1={VECTOR_SIGNATURE}");
        let read = read_signed(Some(&header), VECTOR, &["whsec-test"]);
        assert_eq!(read, Err(CallbackError::NotOurs("not an event")), "it names no order");
    }

    #[test]
    fn either_key_is_good_while_keys_rotate() {
        let zeros = "00".repeat(32);
        let both = format!("t={SENT},v1={zeros},v1={VECTOR_SIGNATURE}");
        for secrets in [["whsec-test", "new"], ["new", "whsec-test"]] {
            let read = read_signed(Some(&both), VECTOR, &secrets);
            assert_eq!(read, Err(CallbackError::NotOurs("not an event")));
        }
    }

    #[test]
    fn the_signed_time_is_told_and_is_a_time() {
        let sign = |time: &str| {
            let signed = format!("{time}.{EVENT}");
            hmac_sha256_hex("whsec-test", signed.as_bytes())
        };
        let read = |time: &str| {
            let header = format!("t={time},v1={}", sign(time));
            read_signed(Some(&header), EVENT, &["whsec-test"])
        };
        let told = read(&SENT.to_string()).unwrap();
        assert_eq!(told.signed_at, Some(Timestamp::from_micros(SENT * 1_000_000)));
        assert!(told.signed);
        for time in ["", "soon", "1764500000.5", "9223372036854775807"] {
            assert_eq!(read(time), Err(CallbackError::SignatureInvalid), "{time}");
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
            let read = read_signed(header, body, &[secret]);
            assert_eq!(read, Err(CallbackError::SignatureInvalid), "{header:?}");
        }
    }

    #[test]
    fn an_event_names_itself_its_kind_and_our_number() {
        let callback = read_signed(None, EVENT, &[]).unwrap();
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
            assert!(matches!(read_signed(None, body, &[]), Err(CallbackError::Malformed(_))));
        }
        let get = RawCallback { post: false, ..by_post(EVENT) };
        assert!(matches!(read(&get, &[]), Err(CallbackError::Malformed(_))));
    }
}
