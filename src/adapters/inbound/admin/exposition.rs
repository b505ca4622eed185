//! In which of its two languages a scrape is answered.

use futures_util::future::BoxFuture;
use http::HeaderMap;
use http::header::ACCEPT;

/// How the metrics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposition {
    /// Prometheus text, for whoever asks for nothing in particular.
    Text,
    /// With exemplars.
    OpenMetrics,
}

/// Makes the page of a scrape: the content type and the text.
pub type RenderMetrics =
    Box<dyn Fn(Exposition) -> BoxFuture<'static, (&'static str, String)> + Send + Sync>;

impl Exposition {
    /// OpenMetrics for those who name it and like nothing they name better.
    #[must_use]
    pub fn negotiate(headers: &HeaderMap) -> Self {
        let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let (mut open, mut plain) = (0.0_f32, 0.0_f32);
        for range in accepted.flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            let quality = parts
                .filter_map(|part| part.split_once('='))
                .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
                .map_or(1.0, |(_, value)| value.trim().parse().unwrap_or(0.0));
            if kind.eq_ignore_ascii_case("application/openmetrics-text") {
                open = open.max(quality);
            } else if kind.eq_ignore_ascii_case("text/plain") {
                plain = plain.max(quality);
            }
        }
        if open > 0.0 && open >= plain { Self::OpenMetrics } else { Self::Text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn asked(accept: &'static str) -> Exposition {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        Exposition::negotiate(&headers)
    }

    #[test]
    fn who_names_openmetrics_gets_it() {
        for accept in [
            "application/openmetrics-text",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            "text/plain;q=0.5, Application/OpenMetrics-Text;version=0.0.1;q=0.75",
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;\
             q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        ] {
            assert_eq!(asked(accept), Exposition::OpenMetrics, "{accept}");
        }
    }

    #[test]
    fn everybody_else_gets_text() {
        assert_eq!(Exposition::negotiate(&HeaderMap::new()), Exposition::Text);
        for accept in [
            "*/*",
            "text/plain",
            "text/html,application/xhtml+xml,*/*;q=0.8",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=x",
            "application/openmetrics-text;q=0.1,text/plain",
        ] {
            assert_eq!(asked(accept), Exposition::Text, "{accept}");
        }
    }
}
