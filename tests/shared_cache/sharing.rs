//! What one instance has heard, the others know.

use crate::instance::{
    Instance, MAX_STALE, NOW, PATIENCE, Server, TTL, key, priced, product, redis,
};
use crate::stub_partner::Answer;
use order_service::core::ports::catalog::CatalogError;
use std::time::Duration;

#[tokio::test]
async fn what_one_instance_has_heard_the_others_need_not_ask() {
    let Some(redis) = redis() else { return };
    let id = product();
    let first = Instance::connected(&redis, [priced(&id, 19_900)]).await;
    let second = Instance::connected(&redis, []).await;
    let heard = first.read(&id).await.unwrap();
    let told = second.read(&id).await.unwrap();
    assert_eq!((&told.product, told.as_of, told.stale), (&heard.product, NOW, false));
    assert_eq!((first.partner.calls(), second.partner.calls()), (1, 0));
    assert_eq!((first.looks(), second.looks()), ((0, 1), (1, 0)));
    second.read(&id).await.unwrap();
    assert_eq!(second.looks(), (1, 0), "its memory stands before the shared cache");
}

#[tokio::test]
async fn an_entry_has_its_prefix_and_goes_by_itself() {
    let Some(redis) = redis() else { return };
    let id = product();
    let instance = Instance::connected(&redis, [priced(&id, 1)]).await;
    instance.read(&id).await.unwrap();
    let left: i64 = Server::at(&redis).await.run(&["PTTL", &key(&id)]).await;
    let left = Duration::from_millis(u64::try_from(left).unwrap());
    assert!(left <= MAX_STALE && left > MAX_STALE - Duration::from_secs(60), "{left:?}");
}

#[tokio::test]
async fn an_answer_is_as_old_here_as_it_is_there() {
    let Some(redis) = redis() else { return };
    let id = product();
    let first = Instance::connected(&redis, [priced(&id, 1)]).await;
    first.read(&id).await.unwrap();
    // Half a minute later by one witness alone, whichever it is, the answer is no longer fresh.
    let by_wall_clock = Instance::connected(&redis, [priced(&id, 2)]).await;
    by_wall_clock.set_clock(30);
    assert_eq!(by_wall_clock.read(&id).await.unwrap().product.price.minor(), 2);

    let other = product();
    let first = Instance::connected(&redis, [priced(&other, 1)]).await;
    first.read(&other).await.unwrap();
    let left = (MAX_STALE - TTL).as_millis().to_string();
    let _: i64 = Server::at(&redis).await.run(&["PEXPIRE", &key(&other), &left]).await;
    let by_redis = Instance::connected(&redis, [priced(&other, 2)]).await;
    assert_eq!(by_redis.read(&other).await.unwrap().product.price.minor(), 2);
}

#[tokio::test]
async fn when_the_catalog_is_down_the_last_answer_to_anybody_is_served_with_its_age() {
    let Some(redis) = redis() else { return };
    let id = product();
    let first = Instance::connected(&redis, [priced(&id, 100)]).await;
    first.read(&id).await.unwrap();
    let second = Instance::connected(&redis, []).await;
    second.set_clock(3_600);
    let offer = second.read(&id).await.unwrap();
    assert_eq!((offer.stale, offer.as_of, offer.product.price.minor()), (true, NOW, 100));
    assert_eq!(offer.age.as_secs(), 3_600);
    assert_eq!(second.partner.calls(), 1);
}

#[tokio::test]
async fn a_younger_answer_to_another_replaces_an_older_one_in_memory() {
    let Some(redis) = redis() else { return };
    let id = product();
    let old = Instance::connected(&redis, [priced(&id, 1)]).await;
    old.set_clock(-3_600);
    let new = Instance::connected(&redis, [priced(&id, 2)]).await;
    old.read(&id).await.unwrap();
    // To the newer clock that was an hour ago, and its own question brings a new price.
    assert_eq!(new.read(&id).await.unwrap().product.price.minor(), 2);
    let third = Instance::connected(&redis, []).await;
    assert_eq!(third.read(&id).await.unwrap().product.price.minor(), 2);
}

#[tokio::test]
async fn a_product_that_is_gone_is_gone_for_all_who_do_not_remember_it() {
    let Some(redis) = redis() else { return };
    let id = product();
    let first = Instance::connected(&redis, [priced(&id, 1)]).await;
    first.read(&id).await.unwrap();
    let second = Instance::connected(&redis, [Answer::Status(404)]).await;
    second.set_clock(60);
    assert_eq!(second.read(&id).await, Err(CatalogError::NotFound));
    let third = Instance::connected(&redis, []).await;
    assert!(matches!(third.read(&id).await, Err(CatalogError::Unavailable(_))));
}

#[tokio::test]
async fn a_failure_leaves_nothing_behind_and_takes_nothing_away() {
    let Some(redis) = redis() else { return };
    let id = product();
    let failing = Instance::connected(&redis, [Answer::Status(500), Answer::json("{}")]).await;
    for _ in 0..2 {
        assert!(failing.read(&id).await.is_err());
    }
    let there: bool = Server::at(&redis).await.run(&["EXISTS", &key(&id)]).await;
    assert!(!there);
}

#[tokio::test]
async fn readers_who_miss_together_look_once() {
    let Some(redis) = redis() else { return };
    let id = product();
    let first = Instance::connected(&redis, [priced(&id, 1)]).await;
    first.read(&id).await.unwrap();
    let second = Instance::connected(&redis, []).await;
    let reads = futures_util::future::join_all((0..50).map(|_| second.read(&id))).await;
    assert!(reads.into_iter().all(|read| read.is_ok()));
    assert_eq!((second.looks(), second.partner.calls()), ((1, 0), 0));
}

#[tokio::test]
async fn a_memory_that_is_full_hides_nothing_of_what_is_shared() {
    let Some(redis) = redis() else { return };
    let id = product();
    let first = Instance::connected(&redis, [priced(&id, 1)]).await;
    first.read(&id).await.unwrap();
    let full = Instance::with(&redis, PATIENCE, [], |config| config.cache.capacity = 0).await;
    full.until_connected().await;
    assert!(!full.read(&id).await.unwrap().stale);
    full.set_clock(60);
    assert!(full.read(&id).await.unwrap().stale);
}
