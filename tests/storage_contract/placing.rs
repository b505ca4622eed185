//! Placing orders.

use crate::world::{START, World, order};
use order_service::core::domain::order::Order;
use order_service::core::ports::idempotency::{IdempotencyKey, KeptReply, KeyedOrder, Placed};
use order_service::core::ports::order_repository::Scope;
use order_service::core::ports::storage_error::StorageError;
use std::sync::Arc;

fn keyed(key: &str) -> KeyedOrder {
    KeyedOrder {
        key: IdempotencyKey { owner: "o".into(), route: "/v1/orders", key: key.into() },
        fingerprint: [7; 32],
        render: Box::new(|order: &Order| {
            (201, format!("{}@{}", order.id, order.created_at.micros()).into_bytes())
        }),
    }
}

pub async fn a_placed_order_carries_the_databases_time_and_reads_back(world: World) {
    let mine = order("c-1");
    let placed = world.store.place(mine.clone(), None).await.unwrap();
    let expected = Order { created_at: START, updated_at: START, version: 1, ..mine };
    assert_eq!(placed, Placed::New(expected.clone()));
    let aggregate = world.aggregate(expected.id).await;
    assert_eq!(aggregate.order, expected);
    assert_eq!((aggregate.registrations, aggregate.tasks), (vec![], vec![]));
}

pub async fn an_order_id_is_placed_once(world: World) {
    let mine = order("c-1");
    world.store.place(mine.clone(), None).await.unwrap();
    let again = world.store.place(mine, None).await;
    assert_eq!(again, Err(StorageError::Corrupt("fresh_id")));
}

pub async fn a_key_places_one_order(world: World) {
    let (first, second) = (order("c-1"), order("c-1"));
    let placed = world.store.place(first.clone(), Some(keyed("k"))).await.unwrap();
    assert!(matches!(placed, Placed::New(_)));
    let body = format!("{}@{}", first.id, START.micros()).into_bytes();
    let reply = KeptReply { fingerprint: [7; 32], status: 201, body };
    let known = world.store.place(second.clone(), Some(keyed("k"))).await.unwrap();
    assert_eq!(known, Placed::Known(reply.clone()));
    assert_eq!(world.store.aggregate(second.id, &Scope::Anyone).await, Ok(None));
    assert_eq!(world.store.find(&keyed("k").key).await, Ok(Some(reply)));
    assert_eq!(world.store.find(&keyed("other").key).await, Ok(None));
}

pub async fn of_many_with_one_key_one_is_placed(world: World) {
    let store = &world.store;
    let many = (0..20).map(|_| {
        let store = Arc::clone(store);
        tokio::spawn(async move { store.place(order("c-1"), Some(keyed("k"))).await.unwrap() })
    });
    let mut replies = Vec::new();
    let mut new = Vec::new();
    for placing in many.collect::<Vec<_>>() {
        match placing.await.unwrap() {
            Placed::New(order) => new.push(order),
            Placed::Known(reply) => replies.push(reply),
        }
    }
    assert_eq!((new.len(), replies.len()), (1, 19));
    let body = format!("{}@{}", new[0].id, START.micros()).into_bytes();
    assert!(replies.iter().all(|reply| reply.body == body));
}

pub async fn all_that_was_placed_at_once_is_there(world: World) {
    let many = (0..200).map(|_| {
        let store = Arc::clone(&world.store);
        let mine = order("c-1");
        tokio::spawn(async move { store.place(mine, None).await.unwrap() })
    });
    for placing in many.collect::<Vec<_>>() {
        let Placed::New(placed) = placing.await.unwrap() else { panic!("no key was given") };
        assert_eq!(world.aggregate(placed.id).await.order, placed);
    }
}

pub async fn hostile_text_reads_back_without_nul(world: World) {
    let mut mine = order("c-1");
    mine.items[0].name = "a\"'; DROP TABLE orders; --\u{1F4A9}\\u0000\n".into();
    let named = mine.clone();
    world.store.place(mine.clone(), None).await.unwrap();
    assert_eq!(world.aggregate(mine.id).await.order.items, named.items);
    let mut nul = order("c-1");
    nul.items[0].name = "a\0b".into();
    world.store.place(nul.clone(), None).await.unwrap();
    assert!(matches!(&*world.aggregate(nul.id).await.order.items[0].name, "ab" | "a\0b"));
}
