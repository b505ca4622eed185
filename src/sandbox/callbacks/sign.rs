//! The two signatures that callbacks carry.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Sber's symmetric checksum: parameters sorted by name, `name;value;` each, HMAC-SHA256, upper-case hex.
pub fn checksum(secret: &str, parameters: &[(String, String)]) -> String {
    let mut sorted: Vec<_> = parameters.iter().collect();
    sorted.sort();
    let line: String = sorted.iter().map(|(name, value)| format!("{name};{value};")).collect();
    hex(&mac(secret, &[line.as_bytes()])).to_uppercase()
}

/// `OdnaKassa-Signature` of a body at a Unix time.
pub fn webhook_signature(secret: &str, unix_seconds: i64, body: &[u8]) -> String {
    let time = unix_seconds.to_string();
    let digest = mac(secret, &[time.as_bytes(), b".", body]);
    format!("t={time},v1={}", hex(&digest))
}

fn mac(secret: &str, parts: &[&[u8]]) -> Vec<u8> {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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

    #[test]
    fn the_webhook_signature_covers_time_and_raw_body() {
        let body = br#"{"id":"evt_1","type":"payment.succeeded"}"#;
        let expected =
            "t=1764500000,v1=bd9e56a40245652c71e1b6b8a0c7ef6619285e5537196b11d82890c74cbcb9a3";
        assert_eq!(webhook_signature("whsec-test", 1_764_500_000, body), expected);
    }
}
