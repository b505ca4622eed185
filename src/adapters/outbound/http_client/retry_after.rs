//! How long a partner asks us to stay away: seconds, or a date.

use http::HeaderMap;
use http::header::{DATE, HeaderName, RETRY_AFTER};
use std::time::{Duration, SystemTime};

/// A partner that asks for more is asked again after this all the same.
const LONGEST: Duration = Duration::from_secs(3600);

/// `None` when nothing was asked for that can be read. A date counts from the partner's own, where the
/// answer bears one: clocks differ. One that has passed is no wait.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let wish = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let digits = !wish.is_empty() && wish.bytes().all(|byte| byte.is_ascii_digit());
    let wait = if digits {
        // More digits than fit a number ask for too much as well.
        Duration::from_secs(wish.parse().unwrap_or(u64::MAX))
    } else {
        let until = httpdate::parse_http_date(wish).ok()?;
        until.duration_since(date(headers, DATE).unwrap_or(now)).unwrap_or_default()
    };
    Some(wait.min(LONGEST))
}

fn date(headers: &HeaderMap, name: HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(wish: &str, date: Option<&str>) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, wish.parse().unwrap());
        if let Some(date) = date {
            headers.insert(DATE, date.parse().unwrap());
        }
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        retry_after(&headers, now).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_are_read_and_bounded() {
        for (wish, seconds) in
            [("0", 0), (" 7 ", 7), ("3601", 3600), ("99999999999999999999999999", 3600)]
        {
            assert_eq!(asked(wish, None), Some(seconds), "{wish}");
        }
    }

    #[test]
    fn dates_are_read_in_the_three_spellings_of_http() {
        for wish in [
            "Sun, 06 Nov 1994 08:50:37 GMT",
            "Sunday, 06-Nov-94 08:50:37 GMT",
            "Sun Nov  6 08:50:37 1994",
        ] {
            assert_eq!(asked(wish, None), Some(60), "{wish}");
        }
        assert_eq!(asked("Fri, 31 Dec 9999 23:59:59 GMT", None), Some(3600));
        assert_eq!(asked("Sun, 06 Nov 1994 08:49:36 GMT", None), Some(0), "it has passed");
    }

    #[test]
    fn a_date_counts_from_the_partners_own_clock() {
        let wish = "Tue, 08 Nov 1994 10:00:30 GMT";
        assert_eq!(asked(wish, Some("Tue, 08 Nov 1994 10:00:00 GMT")), Some(30));
        assert_eq!(asked(wish, Some("yesterday")), Some(3600), "ours, where theirs makes no sense");
    }

    #[test]
    fn what_cannot_be_read_asks_for_nothing() {
        for wish in ["", "-1", "+7", "1.5", "soon", "Sun, 31 Feb 1994 08:49:37 GMT"] {
            assert_eq!(asked(wish, None), None, "{wish}");
        }
    }
}
