//! How a partner is reached, beside its address.

use reqwest::Url;
use std::fmt;
use std::path::PathBuf;

/// What a client's connections are made with. By default the system's roots, and nothing in between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transport {
    /// PEM roots that are trusted beside the system's.
    pub ca_file: Option<PathBuf>,
    /// `OUTBOUND_PROXY`. What the environment says of proxies otherwise is never obeyed: a variable that was meant
    /// for a shell would send payments through a stranger.
    pub proxy: Option<ProxyUrl>,
}

/// `http://[name:password@]host:port`. [`fmt::Debug`] tells no credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyUrl(Url);

impl ProxyUrl {
    /// `None` unless it is an HTTP or HTTPS address without path, query and fragment.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let plain = matches!(url.scheme(), "http" | "https") && url.has_host();
        (bare && plain).then_some(Self(url))
    }

    pub(super) fn proxy(&self) -> reqwest::Result<reqwest::Proxy> {
        reqwest::Proxy::all(self.0.clone())
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxyUrl({})", self.0.host_str().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_an_address_and_nothing_more_and_tells_no_password() {
        for good in
            ["http://proxy:3128", "https://proxy.example/", "http://me:secret@10.0.0.1:8080"]
        {
            assert!(ProxyUrl::parse(good).is_some(), "{good}");
        }
        for bad in
            ["", "proxy:3128", "socks5://proxy", "http://proxy/path", "http://proxy/?a", "http://"]
        {
            assert_eq!(ProxyUrl::parse(bad), None, "{bad}");
        }
        let shown = format!("{:?}", ProxyUrl::parse("http://me:secret@10.0.0.1:8080"));
        assert_eq!(shown, "Some(ProxyUrl(10.0.0.1))");
    }
}
