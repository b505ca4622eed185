//! A cache that several instances share, in a Redis. It is a convenience and behaves like one: whatever
//! goes wrong is a miss, nobody waits for it longer than its patience, and while it is away nobody
//! waits at all.

mod link;

use link::Link;
use redis::IntoConnectionInfo;
use std::fmt;
use std::time::Duration;
use tokio::time::Instant;

/// Where the Redis lives, with its password: never shown.
#[derive(Clone)]
pub struct CacheUrl(redis::Client);

impl fmt::Debug for CacheUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CacheUrl([REDACTED])")
    }
}

impl CacheUrl {
    /// `redis://` or, over TLS, `rediss://`, with a host. No fragment: `#insecure` would accept any
    /// certificate.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let known = ["redis://", "rediss://"].into_iter().any(|scheme| text.starts_with(scheme));
        let place = text.into_connection_info().ok().filter(|_| known && !text.contains('#'))?;
        redis::Client::open(place).ok().map(Self)
    }
}

#[derive(Debug, Clone)]
pub struct RemoteCacheConfig {
    pub url: CacheUrl,
    /// The longest that anybody waits for an answer.
    pub patience: Duration,
}

impl RemoteCacheConfig {
    /// A cache that is slower than the thing itself is none.
    pub const PATIENCE: Duration = Duration::from_millis(30);

    #[must_use]
    pub const fn new(url: CacheUrl) -> Self {
        Self { url, patience: Self::PATIENCE }
    }
}

/// What lay under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub bytes: Vec<u8>,
    /// How long it would have lain there still, by the clock of the Redis.
    pub left: Duration,
    /// How long the answer took: `left` may be older by that much.
    pub took: Duration,
}

#[derive(Debug)]
pub struct RemoteCache {
    link: Link,
}

impl RemoteCache {
    /// Connects behind everybody's back, again and again; must be called within a runtime.
    #[must_use]
    pub fn new(config: RemoteCacheConfig) -> Self {
        Self { link: Link::to(config.url.0, config.patience) }
    }

    /// What lies under `key`, unless it is longer than `longest` bytes or would lie there for ever:
    /// then it is not ours. No more than `longest` bytes and one ever come over the wire.
    pub async fn get(&self, key: &str, longest: usize) -> Option<Found> {
        let asked = Instant::now();
        let mut question = redis::pipe();
        // As one, so that the time belongs to the bytes.
        question.atomic().getrange(key, 0, isize::try_from(longest).ok()?).pttl(key);
        let (bytes, left): (Vec<u8>, i64) = self.link.ask(&question).await?;
        let left = Duration::from_millis(u64::try_from(left).ok()?);
        let ours = !bytes.is_empty() && bytes.len() <= longest;
        ours.then(|| Found { bytes, left, took: asked.elapsed() })
    }

    /// Leaves `bytes` under `key` for `lives`.
    pub async fn put(&self, key: &str, bytes: &[u8], lives: Duration) {
        let Ok(millis @ 1..) = u64::try_from(lives.as_millis()) else { return };
        let mut wish = redis::pipe();
        wish.pset_ex(key, bytes, millis).ignore();
        let _done: Option<()> = self.link.ask(&wish).await;
    }

    pub async fn remove(&self, key: &str) {
        let mut wish = redis::pipe();
        wish.del(key).ignore();
        let _done: Option<()> = self.link.ask(&wish).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_redis_over_tcp_with_or_without_tls_is_taken() {
        for good in ["redis://cache", "redis://:s3cret@cache:6380/2", "rediss://user:s3cret@cache"]
        {
            assert!(CacheUrl::parse(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "cache:6379",
            "redis:/cache",
            "redis://",
            "redis:///1",
            "redis://cache/first",
            "redis://cache:port",
            "rediss://cache/#insecure",
            "valkey://cache",
            "unix:///run/redis.sock",
            "http://cache",
        ] {
            assert!(CacheUrl::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn the_password_is_not_shown() {
        let shown = format!("{:?}", CacheUrl::parse("redis://user:s3cret@cache").unwrap());
        assert!(!shown.contains("s3cret") && !shown.contains("user"), "{shown}");
    }
}
