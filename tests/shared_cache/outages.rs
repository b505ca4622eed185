//! A Redis that is away costs nobody anything, and comes back by itself.

use crate::instance::{Instance, priced, product, redis};
use crate::proxy::{Link, Proxy};
use crate::stub_partner::Answer;
use order_service::adapters::outbound::remote_cache::RemoteCacheConfig;
use order_service::core::ports::catalog::CatalogError;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// What a busy machine adds.
const SLACK: Duration = Duration::from_millis(500);

/// Where a subscriber writes its lines.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn listen() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let lines =
            tracing_subscriber::fmt().with_ansi(false).with_max_level(tracing::Level::TRACE);
        let subscriber = lines.with_writer(move || writer.clone()).finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[tokio::test]
async fn without_a_redis_the_memory_goes_on_alone_and_one_line_says_so() {
    let (log, _guard) = Log::listen();
    // Nobody listens there, and who guards the door is not told on.
    let instance = Instance::new("redis://user:s3cret@127.0.0.1:1/", [priced("p-1", 100)]).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    let began = Instant::now();
    assert!(!instance.read("p-1").await.unwrap().stale);
    assert!(!instance.read("p-1").await.unwrap().stale);
    assert!(began.elapsed() < SLACK, "{:?}", began.elapsed());
    assert_eq!((instance.partner.calls(), instance.looks()), (1, (0, 1)));
    let text = log.text();
    assert_eq!(text.matches("shared cache unavailable").count(), 1, "{text}");
    assert!(!text.contains("s3cret"), "{text}");
}

#[tokio::test]
async fn a_redis_that_falls_silent_is_waited_for_once_and_not_again() {
    let Some(redis) = redis() else { return };
    let proxy = Proxy::to(&redis, Link::Up).await;
    let ids: Vec<_> = (0..4).map(|_| product()).collect();
    let script = ids.iter().map(|id| priced(id, 1));
    let patience = RemoteCacheConfig::PATIENCE;
    let instance = Instance::patient(&proxy.url, patience, script).await;
    instance.until_connected().await;
    proxy.set(Link::Silent);
    let began = Instant::now();
    instance.read(&ids[0]).await.unwrap();
    let waited = began.elapsed();
    assert!(waited >= patience && waited < patience + SLACK, "{waited:?}");
    assert!(!instance.is_connected());
    instance.read(&ids[1]).await.unwrap();
    instance.read(&ids[2]).await.unwrap();
    assert_eq!(instance.looks(), (0, 3));
    assert!(began.elapsed() < patience + 2 * SLACK, "{:?}", began.elapsed());

    // The dead connection is not waited for: a new one is made as soon as there can be one.
    proxy.set(Link::Up);
    instance.until_connected().await;
    instance.read(&ids[3]).await.unwrap();
    let other = Instance::connected(&redis, []).await;
    assert!(!other.read(&ids[3]).await.unwrap().stale);
}

#[tokio::test]
async fn a_redis_that_comes_late_or_again_is_used_by_itself() {
    let Some(redis) = redis() else { return };
    let (log, _guard) = Log::listen();
    let proxy = Proxy::to(&redis, Link::Closed).await;
    let (early, late) = (product(), product());
    let none = || Answer::Status(404);
    let script = [priced(&early, 1), none(), none(), priced(&late, 2)];
    let instance = Instance::new(&proxy.url, script).await;
    instance.read(&early).await.unwrap();
    for _ in 0..2 {
        proxy.set(Link::Up);
        instance.until_connected().await;
        proxy.set(Link::Closed);
        assert_eq!(instance.read(&product()).await, Err(CatalogError::NotFound));
    }
    proxy.set(Link::Up);
    instance.until_connected().await;
    instance.read(&late).await.unwrap();
    let text = log.text();
    assert_eq!(text.matches("shared cache unavailable").count(), 1, "{text}");
    assert_eq!(text.matches("the shared cache is connected").count(), 3, "{text}");
    let other = Instance::connected(&redis, []).await;
    assert_eq!(other.read(&late).await.unwrap().product.price.minor(), 2);
}

#[tokio::test]
async fn a_redis_that_refuses_us_is_as_good_as_none() {
    let Some(redis) = redis() else { return };
    let (log, _guard) = Log::listen();
    let url = redis.replace("redis://", "redis://nobody:s3cret@");
    let instance = Instance::new(&url, [priced("p-1", 100)]).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!instance.read("p-1").await.unwrap().stale);
    let text = log.text();
    assert!(text.contains("shared cache unavailable"), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
}
