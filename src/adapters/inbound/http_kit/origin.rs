//! Where nobody is asked for a token, being able to connect is the only right, and a browser lends it to
//! every page that its user opens. So what changes anything must come from a page of our own, and a
//! listener on this machine alone must be called by a name of this machine: else a foreign name could
//! be pointed here (DNS rebinding).

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::Problem;
use axum::extract::Request;
use http::header::{CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Version};
use std::net::IpAddr;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

const TWICE: Text = Text::new("must be given once", "должен быть указан один раз");
const MISSING: Text = Text::new("is required", "обязателен");
const FOREIGN: Text = Text::new(
    "The request comes from a page of another site, or calls this machine by a foreign name.",
    "Запрос пришёл со страницы другого сайта или обращается к этой машине по чужому имени.",
);

/// Which requests a listener takes from browsers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OriginRule {
    /// Whoever shows a token has not been sent by a foreign page.
    #[default]
    Any,
    /// What changes anything comes from our own pages.
    SameOrigin,
    /// And the listener, on loopback, is called by a name of loopback.
    Loopback,
}

/// On a request whose page the operator allows by name.
#[derive(Debug, Clone, Copy)]
pub struct TrustedOrigin;

impl OriginRule {
    /// # Errors
    /// `forbidden`.
    pub(super) fn check(self, request: &Request) -> Result<(), Problem> {
        let headers = request.headers();
        let host = request.uri().authority().cloned().or_else(|| authority(headers));
        let foreign = match self {
            Self::Any => false,
            Self::SameOrigin => crosses(request, host.as_ref()),
            Self::Loopback => {
                let elsewhere = host.as_ref().is_some_and(|host| !is_loopback(host.host()));
                elsewhere || crosses(request, host.as_ref())
            }
        };
        if foreign { Err(Problem::new(Code::Forbidden).with_detail(FOREIGN)) } else { Ok(()) }
    }
}

/// Headers that mean one thing, and would mean two.
///
/// # Errors
/// `invalid_request`, by the header's name.
pub(super) fn check_headers(request: &Request, over_a_socket: bool) -> Result<(), Problem> {
    let headers = request.headers();
    for name in [HOST, CONTENT_TYPE] {
        if headers.get_all(&name).iter().nth(1).is_some() {
            return Err(Problem::invalid_at(name.as_str(), TWICE));
        }
    }
    if over_a_socket && request.version() == Version::HTTP_11 && !headers.contains_key(HOST) {
        return Err(Problem::invalid_at(HOST.as_str(), MISSING));
    }
    Ok(())
}

fn crosses(request: &Request, host: Option<&Authority>) -> bool {
    if request.method().is_safe() || request.extensions().get::<TrustedOrigin>().is_some() {
        return false;
    }
    let headers = request.headers();
    let site = headers.get(SEC_FETCH_SITE).map(|site| site.as_bytes());
    if site.is_some_and(|site| !matches!(site, b"same-origin" | b"none")) {
        return true;
    }
    let Some(origin) = headers.get(ORIGIN) else { return false };
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    origin.is_none_or(|(_, place)| host.is_none_or(|host| host.as_str() != place))
}

fn authority(headers: &HeaderMap) -> Option<Authority> {
    headers.get(HOST)?.to_str().ok()?.parse().ok()
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn refused(rule: OriginRule, method: &str, headers: &[(&str, &str)]) -> bool {
        let mut request = Request::builder().method(method).uri("/x");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        rule.check(&request.body(Body::empty()).unwrap()).is_err()
    }

    #[test]
    fn a_foreign_page_changes_nothing_here() {
        use OriginRule::{Any, Loopback, SameOrigin};
        let host = ("host", "localhost:8080");
        for foreign in [
            ("origin", "https://evil.example"),
            ("origin", "null"),
            ("origin", "http://localhost:9999"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            for rule in [SameOrigin, Loopback] {
                assert!(refused(rule, "POST", &[host, foreign]), "{foreign:?}");
                assert!(!refused(rule, "GET", &[host, foreign]), "a reply is read by nobody else");
            }
            assert!(!refused(Any, "POST", &[host, foreign]));
        }
        let own = [host, ("origin", "http://localhost:8080"), ("sec-fetch-site", "same-origin")];
        assert!(!refused(Loopback, "POST", &own));
        assert!(!refused(Loopback, "POST", &[host]), "no browser");
    }

    #[test]
    fn loopback_is_called_by_its_own_names_only() {
        for own in ["localhost", "127.0.0.1:8080", "[::1]:8080", "LOCALHOST:1"] {
            assert!(!refused(OriginRule::Loopback, "GET", &[("host", own)]), "{own}");
        }
        for foreign in ["evil.example", "127.0.0.1.evil.example:8080", "10.0.0.1"] {
            assert!(refused(OriginRule::Loopback, "GET", &[("host", foreign)]), "{foreign}");
            assert!(!refused(OriginRule::SameOrigin, "GET", &[("host", foreign)]), "{foreign}");
        }
    }

    #[test]
    fn a_header_that_says_two_things_is_refused() {
        let twice = |name: &str| {
            let request = Request::builder().header(name, "a").header(name, "b");
            check_headers(&request.body(Body::empty()).unwrap(), false).is_err()
        };
        assert!(twice("host") && twice("content-type") && !twice("accept"));
        assert!(check_headers(&Request::new(Body::empty()), true).is_err(), "no host");
    }
}
