//! Placing orders.

use crate::world::{START, World, named, order, request};
use order_service::core::domain::details::ExternalId;
use order_service::core::domain::ids::CustomerId;
use order_service::core::domain::order::Order;
use order_service::core::ports::idempotency::{IdempotencyRecord, KeptOutcome};
use order_service::core::ports::order_repository::{OrderQuery, Placed, Scope};
use order_service::core::ports::storage_error::StorageError;
use std::sync::Arc;

pub async fn a_placed_order_carries_the_databases_time_and_reads_back(world: World) {
    let mine = order("c-1");
    let placed = world.store.place(mine.clone()).await.unwrap();
    let expected = Order { created_at: START, updated_at: START, version: 1, ..mine };
    assert_eq!(placed, expected);
    let aggregate = world.aggregate(expected.id).await;
    assert_eq!(aggregate.order, expected);
    assert_eq!((aggregate.registrations, aggregate.tasks), (vec![], vec![]));
}

pub async fn an_order_id_is_placed_once(world: World) {
    let mine = order("c-1");
    world.store.place(mine.clone()).await.unwrap();
    let again = world.store.place(mine).await;
    assert_eq!(again, Err(StorageError::Corrupt("fresh_id")));
}

pub async fn a_key_places_one_order(world: World) {
    let (first, second) = (order("c-1"), order("c-1"));
    let placed = world.store.place_once(first.clone(), request("k")).await.unwrap();
    let expected = Order { created_at: START, updated_at: START, ..first.clone() };
    assert_eq!(placed, Placed::New(expected));
    let (fingerprint, outcome) = (request("k").fingerprint, KeptOutcome::Placed(first.id));
    let record = IdempotencyRecord { fingerprint, outcome };
    let known = world.store.place_once(second.clone(), request("k")).await.unwrap();
    assert_eq!(known, Placed::Known(record.clone()));
    assert_eq!(world.store.aggregate(second.id, &Scope::Anyone).await, Ok(None));
    assert_eq!(world.store.find(&request("k").key).await, Ok(Some(record)));
    assert_eq!(world.store.find(&request("other").key).await, Ok(None));
}

pub async fn of_many_with_one_key_one_is_placed(world: World) {
    let store = &world.store;
    let many = (0..20).map(|_| {
        let store = Arc::clone(store);
        tokio::spawn(async move { store.place_once(order("c-1"), request("k")).await.unwrap() })
    });
    let mut known = Vec::new();
    let mut new = Vec::new();
    for placing in many.collect::<Vec<_>>() {
        match placing.await.unwrap() {
            Placed::New(order) => new.push(order),
            Placed::Known(record) => known.push(record.outcome),
        }
    }
    assert_eq!((new.len(), known.len()), (1, 19));
    assert!(known.iter().all(|outcome| *outcome == KeptOutcome::Placed(new[0].id)));
}

pub async fn all_that_was_placed_at_once_is_there(world: World) {
    let many = (0..200).map(|_| {
        let store = Arc::clone(&world.store);
        let mine = order("c-1");
        tokio::spawn(async move { store.place(mine).await.unwrap() })
    });
    for placing in many.collect::<Vec<_>>() {
        let placed = placing.await.unwrap();
        assert_eq!(world.aggregate(placed.id).await.order, placed);
    }
}

pub async fn hostile_text_reads_back_without_nul(world: World) {
    let mut mine = order("c-1");
    mine.items[0].name = "a\"'; DROP TABLE orders; --\u{1F4A9}\\u0000\n".into();
    let named = mine.clone();
    world.store.place(mine.clone()).await.unwrap();
    assert_eq!(world.aggregate(mine.id).await.order.items, named.items);
    let mut nul = order("c-1");
    nul.items[0].name = "a\0b".into();
    world.store.place(nul.clone()).await.unwrap();
    assert!(matches!(&*world.aggregate(nul.id).await.order.items[0].name, "ab" | "a\0b"));
}

pub async fn what_a_shop_says_of_an_order_reads_back_and_a_guest_is_nobody(world: World) {
    let mine = Order { customer_id: None, ..named("shop", "A-1/2") };
    let placed = world.store.place(mine.clone()).await.unwrap();
    assert_eq!((&placed.details, &placed.customer_id), (&mine.details, &None));
    assert_eq!(world.aggregate(mine.id).await.order, placed);
    let query =
        OrderQuery { external_id: ExternalId::parse("A-1/2"), limit: 10, ..OrderQuery::default() };
    let found = world.store.list(&query, &Scope::Anyone).await.unwrap();
    assert_eq!(found.iter().map(|it| it.order.id).collect::<Vec<_>>(), [mine.id]);
    let other = OrderQuery { external_id: ExternalId::parse("A-1"), ..query.clone() };
    assert_eq!(world.store.list(&other, &Scope::Anyone).await, Ok(vec![]));
    let stranger = Scope::Only(CustomerId::parse("c-1").unwrap());
    assert_eq!(world.store.list(&query, &stranger).await, Ok(vec![]));
    assert_eq!(world.store.aggregate(mine.id, &stranger).await, Ok(None));
    assert_eq!(world.store.order_named("A-1/2").await, Ok(Some(mine.id)));
    assert_eq!(world.store.order_named("A-1").await, Ok(None));
}

pub async fn an_external_id_names_one_order_of_its_owner(world: World) {
    let first = named("shop", "A-1");
    world.store.place(first.clone()).await.unwrap();
    let taken = Err(StorageError::ExternalIdTaken(first.id));
    assert_eq!(world.store.place(named("shop", "A-1")).await, taken);
    let kept = world.store.place_once(named("shop", "A-1"), request("k")).await;
    assert_eq!(kept, Err(StorageError::ExternalIdTaken(first.id)));
    assert_eq!(world.store.find(&request("k").key).await, Ok(None), "the key is free");
    world.store.place(named("other", "A-1")).await.unwrap();
    let under_a_key = named("shop", "A-2");
    let placed = world.store.place_once(under_a_key.clone(), request("k")).await.unwrap();
    assert!(matches!(placed, Placed::New(_)));
    let again = world.store.place_once(named("shop", "A-2"), request("k")).await.unwrap();
    assert!(matches!(again, Placed::Known(_)), "a repeat is no second order: {again:?}");
}

pub async fn of_many_with_one_external_id_one_is_placed(world: World) {
    let many = (0..20).map(|at| {
        let store = Arc::clone(&world.store);
        // Others are placed in the same moment, and are not disturbed.
        let order = if at % 2 == 0 { named("shop", "A-1") } else { order("c-1") };
        tokio::spawn(async move { store.place(order).await })
    });
    let (mut placed, mut taken) = (Vec::new(), Vec::new());
    for placing in many.collect::<Vec<_>>() {
        match placing.await.unwrap() {
            Ok(order) => placed.push(order),
            Err(StorageError::ExternalIdTaken(by)) => taken.push(by),
            Err(other) => panic!("{other}"),
        }
    }
    let won: Vec<_> = placed.iter().filter(|it| it.details.reference.is_some()).collect();
    assert_eq!((placed.len(), won.len(), taken.len()), (11, 1, 9));
    assert!(taken.iter().all(|by| *by == won[0].id));
}
