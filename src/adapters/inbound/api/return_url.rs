//! Where a payment form may send the payer back to: only to hosts that the operator has named, or we
//! would lend the bank's good name to any address on earth.

use crate::adapters::inbound::http_kit::lang::Text;
use crate::core::payment::policy::{EXTERNAL_ID_PLACEHOLDER, ORDER_PLACEHOLDER};
use http::Uri;

const LONGEST: usize = 512;

/// 64 characters, each percent-encoded.
const LONGEST_EXTERNAL_ID: usize = 3 * 64;

pub const BAD_RETURN_URL: Text = Text::new(
    "must be an https address of an allowed host, at most 512 characters of printable ASCII",
    "должно быть https-адресом разрешённого узла, не длиннее 512 печатных символов ASCII",
);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnUrls {
    /// `PAYMENT_RETURN_HOSTS`: names, or names with a port.
    pub hosts: Vec<String>,
    /// In the sandbox a page of this machine may be plain http.
    pub loopback_http: bool,
}

impl ReturnUrls {
    pub fn allow(&self, text: &str) -> bool {
        // A browser reads `\` as `/`, and what else is left out here does not belong into an address.
        let plain = |b: u8| b.is_ascii_graphic() && !matches!(b, b'\\' | b'"' | b'<' | b'>' | b'`');
        // As long as it can become once these stand in it.
        let text = &text
            .replace(ORDER_PLACEHOLDER, "00000000-0000-7000-8000-000000000000")
            .replace(EXTERNAL_ID_PLACEHOLDER, &"0".repeat(LONGEST_EXTERNAL_ID));
        if text.len() > LONGEST || !text.bytes().all(plain) {
            return false;
        }
        let Ok(uri) = text.parse::<Uri>() else { return false };
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return false;
        };
        if authority.as_str().contains('@') {
            return false;
        }
        match scheme {
            "https" => {
                let named = |host: &String| {
                    host.eq_ignore_ascii_case(authority.host())
                        || host.eq_ignore_ascii_case(authority.as_str())
                };
                self.hosts.iter().any(named)
            }
            "http" => {
                self.loopback_http
                    && matches!(authority.host(), "localhost" | "127.0.0.1" | "[::1]")
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(loopback_http: bool) -> ReturnUrls {
        let hosts = vec!["shop.example".to_owned(), "dev.example:8443".to_owned()];
        ReturnUrls { hosts, loopback_http }
    }

    #[test]
    fn only_https_to_a_named_host_is_allowed() {
        for good in [
            "https://shop.example",
            "https://SHOP.example/back?order=1#paid",
            "https://shop.example/{order_id}/back?order={order_id}",
            "https://shop.example/{external_id}/back",
            "https://shop.example:444/",
            "https://dev.example:8443/x",
        ] {
            assert!(urls(false).allow(good), "{good}");
        }
        for bad in [
            "",
            "shop.example",
            "/back",
            "//shop.example/",
            "http://shop.example/",
            "https://dev.example/",
            "https://evil.example/",
            "https://shop.example.evil.example/",
            "https://shop.example@evil.example/",
            "https://user:pw@shop.example/",
            "https://evil.example\\@shop.example/",
            "https://shop.example/a b",
            "https://shop.example/ю",
            "javascript:alert(1)",
            "ftp://shop.example/",
            "http://127.0.0.1/",
        ] {
            assert!(!urls(false).allow(bad), "{bad}");
        }
        let long = format!("https://shop.example/{}", "x".repeat(512));
        assert!(!urls(false).allow(&long));
    }

    #[test]
    fn in_the_sandbox_a_page_of_this_machine_is_allowed() {
        for good in ["http://localhost:3000/", "http://127.0.0.1:1/x", "http://[::1]:9/"] {
            assert!(urls(true).allow(good), "{good}");
        }
        assert!(!urls(true).allow("http://127.0.0.1.evil.example/"));
        assert!(!urls(true).allow("http://shop.example/"));
    }
}
