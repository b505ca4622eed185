//! The address of a payment page, as it may be given to a payer's browser: what was parsed is what is
//! handed on, so that nothing means one thing to us and another to the browser.

use crate::adapters::outbound::http_client::Url;

const LONGEST: usize = 2_048;

/// `None` for what no payer may be sent to: another scheme than http and https, an address without a
/// host or with a login in it, and one with control characters, blanks, or what was mangled on the way.
#[must_use]
pub fn payment_page(told: &str) -> Option<String> {
    // The parser would drop or encode these silently.
    let odd = |letter: char| {
        letter.is_control() || letter.is_whitespace() || letter == char::REPLACEMENT_CHARACTER
    };
    if told.contains(odd) {
        return None;
    }
    let url = Url::parse(told).ok()?;
    let web = matches!(url.scheme(), "http" | "https") && url.has_host();
    let anonymous = url.username().is_empty() && url.password().is_none();
    let page = String::from(url);
    (web && anonymous && page.len() <= LONGEST).then_some(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_handed_on_as_it_was_parsed() {
        for (told, page) in [
            ("https://bank.example/pay?o=1", "https://bank.example/pay?o=1"),
            ("HTTPS:\\\\Bank.Example\\pay", "https://bank.example/pay"),
            ("http://127.0.0.1:9100/pay/1#x", "http://127.0.0.1:9100/pay/1#x"),
            ("https://банк.example/a\"b<c>", "https://xn--80ab2al.example/a%22b%3Cc%3E"),
        ] {
            assert_eq!(payment_page(told).as_deref(), Some(page), "{told}");
        }
    }

    #[test]
    fn no_payer_is_sent_elsewhere() {
        let long = format!("https://bank.example/{}", "x".repeat(LONGEST));
        for told in [
            "",
            "/pay/1",
            "not a page",
            "javascript:alert(1)",
            "data:text/html,x",
            "ftp://bank.example/",
            "https://",
            "https://bank.example@evil.example/",
            "https://shop:secret@bank.example/",
            "https://bank.example/\r\nSet-Cookie:a=b",
            "java\tscript:alert(1)",
            " https://bank.example/",
            "https://bank.example/\0",
            "https://bank.example/\u{fffd}",
            &long,
        ] {
            assert_eq!(payment_page(told), None, "{told}");
        }
    }
}
