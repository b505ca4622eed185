//! What a client would like (RFC 7240): an answer at once, or a wait of so many seconds. A preference
//! that is malformed or unknown is none, as the standard has it; `?wait=` is strict instead.

use crate::adapters::inbound::http_kit::lang::Text;
use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::Instant;

pub const PREFER: HeaderName = HeaderName::from_static("prefer");
pub const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// The longest wait of a long poll: more is cut.
pub const MAX_WAIT: Duration = Duration::from_secs(30);

pub const MALFORMED_WAIT: Text = Text::new(
    "must be a duration like 10s, or whole seconds",
    "должно быть длительностью вида 10s или целым числом секунд",
);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prefer {
    pub respond_async: bool,
    pub wait: Option<Duration>,
}

impl Prefer {
    pub fn of(headers: &HeaderMap) -> Self {
        let mut preferences = Self::default();
        let mut wait_seen = false;
        let values = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
        for preference in values.flat_map(|value| value.split(',')) {
            // Parameters after `;` belong to preferences that we do not know.
            let preference = preference.split(';').next().unwrap_or(preference);
            let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
            let (name, value) = (name.trim(), value.trim().trim_matches('"'));
            if name.eq_ignore_ascii_case("respond-async") {
                preferences.respond_async = true;
            } else if name.eq_ignore_ascii_case("wait") && !wait_seen {
                // The first one counts (section 2), also when it is malformed.
                wait_seen = true;
                preferences.wait = whole_seconds(value);
            }
        }
        preferences
    }
}

impl<S: Sync> FromRequestParts<S> for Prefer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.headers))
    }
}

/// `?wait=`: bare seconds, or a duration with its unit.
pub fn parse_wait(text: &str) -> Option<Duration> {
    whole_seconds(text).or_else(|| humantime::parse_duration(text).ok())
}

/// `Preference-Applied: wait=n`.
pub fn applied_wait(wait: Duration) -> HeaderValue {
    HeaderValue::from_str(&format!("wait={}", wait.as_secs())).expect("visible ASCII")
}

/// Whether a client has got the wait that it asked for: a little less is what a timer's grain and the way
/// of the answer take.
pub fn waited(begun: Instant, wait: Duration) -> bool {
    begun.elapsed() + Duration::from_millis(100) >= wait
}

fn whole_seconds(text: &str) -> Option<Duration> {
    let digits = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    digits.then(|| Duration::from_secs(text.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefer(values: &[&'static str]) -> (bool, Option<u64>) {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(PREFER, HeaderValue::from_static(value));
        }
        let preferences = Prefer::of(&headers);
        (preferences.respond_async, preferences.wait.map(|wait| wait.as_secs()))
    }

    #[test]
    fn preferences_are_read_as_the_standard_writes_them() {
        assert_eq!(prefer(&[]), (false, None));
        assert_eq!(prefer(&["respond-async, wait=10"]), (true, Some(10)));
        assert_eq!(prefer(&["Respond-Async", "WAIT = \"7\""]), (true, Some(7)));
        assert_eq!(prefer(&["respond-async; foo=bar, return=minimal"]), (true, None));
        assert_eq!(prefer(&["wait=1, wait=2"]), (false, Some(1)));
    }

    #[test]
    fn a_malformed_preference_is_none() {
        assert_eq!(prefer(&["wait=soon, wait=2"]), (false, None));
        assert_eq!(prefer(&["wait", "wait=-1", "handling=lenient"]), (false, None));
    }

    #[test]
    fn a_wait_is_written_with_or_without_a_unit() {
        assert_eq!(parse_wait("10"), Some(Duration::from_secs(10)));
        assert_eq!(parse_wait("10s"), Some(Duration::from_secs(10)));
        assert_eq!(parse_wait("250ms"), Some(Duration::from_millis(250)));
        for bad in ["", "-1", "s", "ten", "1.5", "10x"] {
            assert_eq!(parse_wait(bad), None, "{bad}");
        }
    }
}
