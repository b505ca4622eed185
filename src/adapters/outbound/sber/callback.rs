//! Sber's callbacks: hints of either generation that an order has news. The classic one may carry a
//! checksum over whatever parameters the merchant's settings add; the JSON one is never signed.

use super::config::CallbackKey;
use crate::adapters::outbound::signature::hmac_sha256_matches;
use crate::adapters::outbound::told::Told;
use crate::core::domain::provider::ProviderNumber;
use crate::core::ports::payment::{Callback, CallbackError, RawCallback};
use std::collections::BTreeMap;

const LONGEST_NUMBER: usize = 36;
const LONGEST_OPERATION: usize = 64;

pub(super) fn read(
    raw: &RawCallback<'_>,
    key: Option<&CallbackKey>,
) -> Result<Callback, CallbackError> {
    match (raw.post, raw.form) {
        (false, _) => read_parameters(raw.query.as_bytes(), key),
        (true, true) => read_parameters(raw.body, key),
        (true, false) => read_json(raw.body),
    }
}

/// No event ids exist, and two partial refunds look alike: nothing may be taken for a duplicate.
fn callback(
    number: &str,
    operation: &str,
    status: &str,
    signed: bool,
) -> Result<Callback, CallbackError> {
    // What the bank did sign is a callback of some sort, and not for us where it names no order.
    let refused = if signed { CallbackError::NotOurs } else { CallbackError::Malformed };
    let name = |text: &str, longest: usize| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=longest).contains(&text.len()) && text.bytes().all(allowed)
    };
    if !name(number, LONGEST_NUMBER) {
        return Err(refused("orderNumber"));
    }
    if !name(operation, LONGEST_OPERATION) {
        return Err(refused("operation"));
    }
    // A failed attempt: the payer may have more.
    let kind = match status {
        "1" => operation.to_owned(),
        "0" => format!("{operation}_failed"),
        _ => return Err(refused("status")),
    };
    let number = ProviderNumber::told(number);
    Ok(Callback { number, event_id: None, kind, signed, signed_at: None })
}

/// The classic form: a query, or the same as the body of a form.
fn read_parameters(encoded: &[u8], key: Option<&CallbackKey>) -> Result<Callback, CallbackError> {
    let mut parameters = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(encoded) {
        if parameters.insert(name, value).is_some() {
            return Err(CallbackError::Malformed("a parameter twice"));
        }
    }
    let checksum = parameters.remove("checksum").unwrap_or_default();
    parameters.remove("sign_alias");
    if let Some(key) = key {
        // From what arrived, in the order of names: settings may add parameters.
        let signed: String =
            parameters.iter().map(|(name, value)| format!("{name};{value};")).collect();
        if !key.matches(&signed, &checksum) {
            return Err(CallbackError::SignatureInvalid);
        }
    }
    let value = |name| parameters.get(name).map_or("", |value| value);
    callback(value("orderNumber"), value("operation"), value("status"), key.is_some())
}

impl CallbackKey {
    fn matches(&self, signed: &str, checksum: &str) -> bool {
        match self {
            Self::Secrets(secrets) => secrets
                .iter()
                .any(|secret| hmac_sha256_matches(secret, &[signed.as_bytes()], checksum)),
            Self::Public(key) => key.matches(signed.as_bytes(), checksum),
        }
    }
}

fn read_json(body: &[u8]) -> Result<Callback, CallbackError> {
    let told = Told::read(body, &["orderNumber", "operation", "status"])
        .ok_or(CallbackError::Malformed("not the JSON form"))?;
    let text = |name| told.text(name).unwrap_or_default();
    let status = told.integer("status").map(|status| status.to_string()).unwrap_or_default();
    callback(&text("orderNumber"), &text("operation"), &status, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::outbound::signature::{RsaKey, hmac_sha256_hex};
    use secrecy::SecretString;

    const DEPOSITED: &str = "mdOrder=6f0c1f0e-0000-4000-8000-000000000001&operation=deposited\
        &orderNumber=01JDTESTORDER0000000000001-01&status=1";
    const DEPOSITED_SUM: &str = "DD0CA0D01840EC77DF071F48090D6E745DDBF3837E51056EF6953EF75259B16A";
    const EXPIRED: &str = "status=0&orderNumber=01JDTESTORDER0000000000001-01&amount=19900\
        &operation=declinedByTimeout&mdOrder=6f0c1f0e%2D0000-4000-8000-000000000001";
    const EXPIRED_SUM: &str = "A6B0B47F9AE4B55DEAECB65214DDF116E727B9A75F8A72002EAABDC41DCB6698";

    fn get(query: &str, secret: Option<&str>) -> Result<Callback, CallbackError> {
        get_by(query, secret.map(|secret| secrets(&[secret])).as_ref())
    }

    fn secrets(all: &[&str]) -> CallbackKey {
        CallbackKey::Secrets(all.iter().copied().map(SecretString::from).collect())
    }

    fn get_by(query: &str, key: Option<&CallbackKey>) -> Result<Callback, CallbackError> {
        read(&RawCallback { query, ..RAW }, key)
    }

    const RAW: RawCallback<'_> =
        RawCallback { post: false, form: false, query: "", signature: None, body: b"" };

    fn post(body: &str) -> Result<Callback, CallbackError> {
        let raw = RawCallback { post: true, body: body.as_bytes(), ..RAW };
        read(&raw, Some(&secrets(&["osvc-test-key"])))
    }

    #[test]
    fn the_checksum_covers_what_arrived_in_the_order_of_names() {
        for (query, sum, kind) in [
            (DEPOSITED, DEPOSITED_SUM, "deposited"),
            (EXPIRED, EXPIRED_SUM, "declinedByTimeout_failed"),
        ] {
            for sum in [sum.to_owned(), sum.to_lowercase()] {
                let query = format!("{query}&checksum={sum}&sign_alias=SHA-256");
                let callback = get(&query, Some("osvc-test-key")).unwrap();
                assert_eq!(callback.number.as_str(), "01JDTESTORDER0000000000001-01");
                assert_eq!((callback.kind.as_str(), callback.signed), (kind, true));
            }
        }
    }

    #[test]
    fn the_classic_form_may_come_as_the_body_of_a_form() {
        let signed = format!("{DEPOSITED}&checksum={DEPOSITED_SUM}");
        let post = |body: &str| {
            let raw = RawCallback { post: true, form: true, body: body.as_bytes(), ..RAW };
            read(&raw, Some(&secrets(&["osvc-test-key"])))
        };
        assert_eq!(post(&signed), get(&signed, Some("osvc-test-key")));
        assert!(post(&signed).unwrap().signed);
        for forged in [DEPOSITED.to_owned(), signed.replace("=1&", "=0&"), String::new()] {
            assert_eq!(post(&forged), Err(CallbackError::SignatureInvalid), "{forged}");
        }
    }

    #[test]
    fn either_secret_is_good_while_one_replaces_the_other() {
        let signed = format!("{DEPOSITED}&checksum={DEPOSITED_SUM}");
        for both in [["osvc-test-key", "next"], ["next", "osvc-test-key"]] {
            assert!(get_by(&signed, Some(&secrets(&both))).unwrap().signed);
        }
        let refused = get_by(&signed, Some(&secrets(&["next", "one more"])));
        assert_eq!(refused, Err(CallbackError::SignatureInvalid));
    }

    #[test]
    fn what_is_signed_and_names_no_order_is_not_ours_and_not_refused() {
        for parameters in [
            [("operation", "deposited"), ("status", "1")],
            [("operation", "deposited"), ("orderNumber", "A-01")],
            [("orderNumber", "A/01"), ("status", "1")],
        ] {
            let signed: String =
                parameters.iter().map(|(name, value)| format!("{name};{value};")).collect();
            let sum = hmac_sha256_hex("osvc-test-key", signed.as_bytes());
            let query: String =
                parameters.iter().map(|(name, value)| format!("{name}={value}&")).collect();
            let read = get(&format!("{query}checksum={sum}"), Some("osvc-test-key"));
            assert!(matches!(read, Err(CallbackError::NotOurs(_))), "{query} {read:?}");
            assert!(matches!(get(&query, None), Err(CallbackError::Malformed(_))), "{query}");
        }
    }

    #[test]
    fn the_checksum_may_be_the_banks_rsa_signature() {
        let pem = include_bytes!("../signature/certificate.pem");
        let key = CallbackKey::Public(RsaKey::from_pem(pem).unwrap());
        let signature = include_str!("../signature/signature.hex").trim_end();
        let signed = format!("{DEPOSITED}&sign_alias=SHA-512+with+RSA&checksum={signature}");
        assert!(get_by(&signed, Some(&key)).unwrap().signed);
        for refused in [DEPOSITED.to_owned(), signed.replace("=1", "=0")] {
            let refused = get_by(&refused, Some(&key));
            assert_eq!(refused, Err(CallbackError::SignatureInvalid));
        }
    }

    #[test]
    fn a_changed_or_unsigned_query_is_refused_while_a_secret_is_set() {
        for query in [
            DEPOSITED.to_owned(),
            format!("{DEPOSITED}&checksum="),
            format!("{DEPOSITED}&checksum={EXPIRED_SUM}"),
            format!("{DEPOSITED}&amount=1&checksum={DEPOSITED_SUM}"),
            format!("{}&checksum={DEPOSITED_SUM}", DEPOSITED.replace("=1", "=0")),
            String::new(),
        ] {
            let refused = get(&query, Some("osvc-test-key"));
            assert_eq!(refused, Err(CallbackError::SignatureInvalid), "{query}");
        }
    }

    #[test]
    fn without_a_secret_a_query_is_a_hint() {
        for query in [DEPOSITED.to_owned(), format!("{DEPOSITED}&checksum=00")] {
            assert!(!get(&query, None).unwrap().signed);
        }
    }

    #[test]
    fn the_json_form_is_a_hint() {
        let body = r#"{"mdOrder":"6f0c1f0e","orderNumber":"A-01","operation":"created","status":1,
            "additionalParams":{"x":1}}"#;
        let callback = post(body).unwrap();
        assert_eq!((callback.kind.as_str(), callback.signed), ("created", false));
    }

    #[test]
    fn nonsense_is_no_callback() {
        let long = format!("orderNumber={}&operation=a&status=1", "x".repeat(37));
        for query in [
            "",
            "orderNumber=A-01&operation=deposited&status=2",
            "orderNumber=A;01&operation=deposited&status=1",
            "orderNumber=A-01&orderNumber=B-01&operation=deposited&status=1",
            &long,
        ] {
            assert!(matches!(get(query, None), Err(CallbackError::Malformed(_))), "{query}");
        }
        for body in ["", "[]", "{}", r#"{"orderNumber":1,"operation":"a","status":1}"#] {
            assert!(matches!(post(body), Err(CallbackError::Malformed(_))), "{body}");
        }
    }
}
