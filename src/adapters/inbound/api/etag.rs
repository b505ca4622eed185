//! Whether a client already has what it asks for (RFC 9110, section 13): a strong tag made of the
//! body's own bytes, so that it is the same on every instance.

use crate::adapters::inbound::http_kit::reply::json_bytes;
use axum::response::{IntoResponse, Response};
use http::header::{ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// 128 bits of SHA-256, quoted.
pub fn etag(body: &[u8]) -> HeaderValue {
    let digest = Sha256::digest(body);
    let mut tag = String::with_capacity(34);
    tag.push('"');
    for byte in &digest[..16] {
        write!(tag, "{byte:02x}").expect("a string takes everything");
    }
    tag.push('"');
    HeaderValue::from_str(&tag).expect("hexadecimal digits in quotes")
}

/// 200 with the tag, or 304 without a body when the client has it already.
pub fn conditional(request: &HeaderMap, body: Vec<u8>) -> Response {
    let tag = etag(&body);
    let mut response = if matches(request, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        json_bytes(StatusCode::OK, body)
    };
    response.headers_mut().insert(ETAG, tag);
    response
}

/// The weak comparison, over all lists of all headers. Our tags hold no comma.
fn matches(request: &HeaderMap, tag: &HeaderValue) -> bool {
    request
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knows(header: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, header.parse().unwrap());
        matches(&headers, &HeaderValue::from_static("\"ab\""))
    }

    #[test]
    fn a_tag_is_found_in_any_list() {
        for known in ["*", "\"ab\"", "W/\"ab\"", "\"cd\", W/\"ab\" ,\"ef\""] {
            assert!(knows(known), "{known}");
        }
        for unknown in ["", "ab", "\"abc\"", "\"cd\",\"ef\""] {
            assert!(!knows(unknown), "{unknown}");
        }
    }

    #[test]
    fn the_tag_follows_the_content() {
        assert_eq!(etag(b"a"), etag(b"a"));
        assert_ne!(etag(b"a"), etag(b"b"));
    }
}
