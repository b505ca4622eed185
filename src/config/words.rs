//! The kinds of values that a variable can hold. Each reads itself from text and, when it cannot,
//! says what it expected and never what it got: that may be a secret.

use crate::adapters::outbound::http_client::{self, Url};
use crate::adapters::outbound::remote_cache::CacheUrl;
use crate::core::domain::provider::{Preference, Provider};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, de::Error};
use std::net::SocketAddr;

/// Reads the text of a variable, or says what was expected in its place.
pub(super) fn read<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    parse: impl FnOnce(&str) -> Option<T>,
    expected: impl FnOnce() -> String,
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(text.trim()).ok_or_else(|| D::Error::custom(expected()))
}

/// A whole number within bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole<const MIN: u32, const MAX: u32>(pub(super) u32);

impl<'de, const MIN: u32, const MAX: u32> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| text.parse().ok();
        read(
            deserializer,
            |t| parse(t).filter(|n| (MIN..=MAX).contains(n)).map(Self),
            || format!("a whole number from {MIN} to {MAX}"),
        )
    }
}

/// A number from 0 to `MAX`, with a fraction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fraction<const MAX: u32>(pub(super) f64);

impl<'de, const MAX: u32> Deserialize<'de> for Fraction<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| text.parse().ok();
        let bounds = 0.0..=f64::from(MAX);
        read(
            deserializer,
            |t| parse(t).filter(|n| bounds.contains(n)).map(Self),
            || format!("a number from 0 to {MAX}, such as 0.5"),
        )
    }
}

/// A value that is chosen by one of a few words.
pub(super) trait Choice: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

#[derive(Debug, Clone, Copy)]
pub(super) struct OneOf<T>(pub(super) T);

impl<'de, T: Choice> Deserialize<'de> for OneOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| T::WORDS.iter().find(|(word, _)| *word == text);
        read(
            deserializer,
            |t| parse(t).map(|(_, choice)| Self(*choice)),
            || {
                let words: Vec<_> = T::WORDS.iter().map(|(word, _)| *word).collect();
                format!("one of {}", words.join(", "))
            },
        )
    }
}

impl Choice for bool {
    const WORDS: &'static [(&'static str, Self)] = &[("false", false), ("true", true)];
}

/// Where a listener is bound.
#[derive(Debug, Clone, Copy)]
pub(super) struct Address(pub(super) SocketAddr);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(
            deserializer,
            |t| t.parse().ok().map(Self),
            || "an IP address with a port, such as 127.0.0.1:8080".into(),
        )
    }
}

/// Which log lines are written.
#[derive(Debug, Clone)]
pub(super) struct LogFilter(pub(super) String);

impl<'de> Deserialize<'de> for LogFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let valid = |t: &&str| tracing_subscriber::EnvFilter::try_new(t).is_ok();
        read(
            deserializer,
            |t| Some(t).filter(valid).map(|t| Self(t.into())),
            || "a filter such as info or warn,order_service=debug".into(),
        )
    }
}

/// Where a partner lives.
#[derive(Debug, Clone)]
pub(super) struct BaseUrl(pub(super) Url);

impl<'de> Deserialize<'de> for BaseUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "an http or https URL without credentials, query and fragment";
        read(deserializer, |t| http_client::base_url(t).ok().map(Self), || expected.into())
    }
}

/// Where a payer's browser may be sent: https, or plain http to this very machine.
#[derive(Debug, Clone)]
pub(super) struct ReturnUrl(pub(super) Url);

impl<'de> Deserialize<'de> for ReturnUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| {
            let url = Url::parse(text).ok()?;
            let host = url.host_str()?;
            let loopback = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
            let safe = url.scheme() == "https" || (url.scheme() == "http" && loopback);
            (safe && url.username().is_empty() && url.password().is_none()).then_some(url)
        };
        let expected = "an https URL (http only to localhost)";
        read(deserializer, |t| parse(t).map(Self), || expected.into())
    }
}

/// A path at the host's root.
#[derive(Debug, Clone)]
pub(super) struct RootPath(pub(super) String);

impl<'de> Deserialize<'de> for RootPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let valid = |t: &&str| t.starts_with('/') && t.bytes().all(|b| b.is_ascii_graphic());
        read(
            deserializer,
            |t| Some(t).filter(valid).map(|t| Self(t.into())),
            || "a path that begins with a slash".into(),
        )
    }
}

/// Words separated by commas.
fn list(text: &str) -> Vec<&str> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect()
}

/// Payment systems in order of preference, each once.
#[derive(Debug, Clone)]
pub(super) struct Providers(pub(super) Preference);

impl<'de> Deserialize<'de> for Providers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| {
            let providers: Option<Vec<_>> = list(text).into_iter().map(Provider::parse).collect();
            Preference::new(providers?).map(Self)
        };
        read(deserializer, parse, || {
            let all = Provider::ALL.map(Provider::as_str).join(",");
            format!("payment systems separated by commas, each once, such as {all}")
        })
    }
}

/// Host names, in lower case.
#[derive(Debug, Clone)]
pub(super) struct Hosts(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for Hosts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| {
            let host = |b: u8| b.is_ascii_alphanumeric() || b"-._[:]".contains(&b);
            let hosts = list(text);
            let valid = !hosts.is_empty() && hosts.iter().all(|h| h.bytes().all(host));
            valid.then(|| Self(hosts.iter().map(|h| h.to_ascii_lowercase()).collect()))
        };
        read(deserializer, parse, || "host names separated by commas, without scheme".into())
    }
}

/// A proxy's address.
#[derive(Debug, Clone)]
pub(super) struct OutboundProxy(pub(super) http_client::ProxyUrl);

impl<'de> Deserialize<'de> for OutboundProxy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| http_client::ProxyUrl::parse(text).map(Self);
        read(deserializer, parse, || "http://[name:password@]host:port".into())
    }
}

/// Origins as browsers write them, or `*` for every page there is.
#[derive(Debug, Clone)]
pub(super) struct Origins(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for Origins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let origin = |text: &str| {
            let written =
                Url::parse(text).is_ok_and(|it| it.origin().ascii_serialization() == text);
            (written || text == "*").then(|| text.to_owned())
        };
        let parse = |text: &str| {
            let texts = list(text);
            let alone = texts.len() == 1 || !texts.contains(&"*");
            let read: Option<Vec<_>> = texts.iter().map(|text| origin(text)).collect();
            read.filter(|read| !read.is_empty() && alone).map(Self)
        };
        let expected =
            || "origins such as https://shop.example, separated by commas, or * alone".into();
        read(deserializer, parse, expected)
    }
}

/// `PAYMENT_NUMBER_PREFIX`: what every provider accepts at the head of an order's number.
#[derive(Debug, Clone, Default)]
pub(super) struct NumberPrefix(pub(super) String);

impl<'de> Deserialize<'de> for NumberPrefix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let valid = |t: &&str| {
            t.len() <= 3 && t.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
        };
        read(
            deserializer,
            |t| Some(t).filter(valid).map(|t| Self(t.into())),
            || "at most three of A-Z and 0-9".into(),
        )
    }
}

/// A short name that may stand in logs, labels and tables.
#[derive(Debug, Clone)]
pub(super) struct Label(pub(super) String);

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let valid = |t: &&str| t.len() <= 128 && t.bytes().all(|b| b.is_ascii_graphic());
        read(
            deserializer,
            |t| Some(t).filter(valid).map(|t| Self(t.into())),
            || "a name of at most 128 visible ASCII characters".into(),
        )
    }
}

/// A secret that travels in a header.
#[derive(Debug, Clone)]
pub(super) struct Token(pub(super) SecretString);

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let secret = SecretString::deserialize(deserializer)?;
        let text = secret.expose_secret();
        let fits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        fits.then_some(Self(secret)).ok_or_else(|| D::Error::custom("a secret of visible ASCII"))
    }
}

/// Secrets of persons: `name:secret` with commas between them, each name once.
#[derive(Debug, Clone)]
pub(super) struct NamedTokens(pub(super) Vec<(String, SecretString)>);

impl<'de> Deserialize<'de> for NamedTokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = SecretString::deserialize(deserializer)?;
        let plain = |name: &str| {
            let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
            (1..=64).contains(&name.len()) && name.bytes().all(allowed)
        };
        let person = |entry: &str| {
            let (name, secret) = entry.trim().split_once(':')?;
            let fits = plain(name) && !secret.is_empty();
            let fits = fits && secret.bytes().all(|b| b.is_ascii_graphic());
            fits.then(|| (name.to_owned(), SecretString::from(secret)))
        };
        let persons: Option<Vec<_>> = text.expose_secret().split(',').map(person).collect();
        let once = |all: &Vec<(String, SecretString)>| {
            all.iter().enumerate().all(|(at, (name, _))| all[..at].iter().all(|(n, _)| n != name))
        };
        let expected = "name:secret with commas between them, each name once";
        persons.filter(once).map(Self).ok_or_else(|| D::Error::custom(expected))
    }
}

/// Secrets separated by commas: all that are valid while one replaces another.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(pub(super) Vec<SecretString>);

impl<'de> Deserialize<'de> for Secrets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = SecretString::deserialize(deserializer)?;
        let secrets = list(text.expose_secret()).into_iter().map(SecretString::from).collect();
        Ok(Self(secrets))
    }
}

/// Where instances share a cache.
#[derive(Debug, Clone)]
pub(super) struct SharedCache(pub(super) CacheUrl);

impl<'de> Deserialize<'de> for SharedCache {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "redis://USER:PASSWORD@HOST:PORT/NUMBER, or rediss:// over TLS";
        read(deserializer, |t| CacheUrl::parse(t).map(Self), || expected.into())
    }
}

/// What follows the scheme chooses nothing: SQLite in a file, or a PostgreSQL server.
#[derive(Debug, Clone)]
pub(super) struct DatabaseUrl(pub(super) SecretString);

impl<'de> Deserialize<'de> for DatabaseUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let known = |t: &&str| {
            let rest = |scheme: &str| t.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty());
            let server = ["postgres://", "postgresql://"].into_iter().any(rest);
            // Its driver knows one host, and asks no host whether it is the primary.
            let one_host = |url: Url| {
                let several = url.host_str().is_some_and(|host| host.contains(','));
                !several && url.query_pairs().all(|(name, _)| name != "target_session_attrs")
            };
            rest("sqlite:") || (server && Url::parse(t).is_ok_and(one_host))
        };
        read(
            deserializer,
            |t| Some(t).filter(known).map(|t| Self(t.into())),
            || {
                "sqlite://PATH or postgres://USER:PASSWORD@HOST/DATABASE with one HOST (before several \
                 stands HAProxy or a virtual address: docs/high-availability.md)"
                    .into()
            },
        )
    }
}
