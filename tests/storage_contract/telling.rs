//! The outbox: what happened to orders, appended with each change and read in the order of commits.

use crate::world::{World, named, registration, with_state};
use order_service::core::domain::ids::{CustomerId, EventId, OrderId};
use order_service::core::domain::order::{Order, OrderStatus};
use order_service::core::domain::provider::Provider;
use order_service::core::payment::order_event::OrderEvent;
use order_service::core::payment::registration::RegistrationState;
use order_service::core::ports::order_repository::Scope;
use order_service::core::ports::outbox::{After, StoredEvent};
use order_service::core::ports::storage_error::StorageError;
use std::collections::BTreeMap;
use std::time::Duration;

const START: After = After::Position(0);

async fn everything(world: &World) -> Vec<StoredEvent> {
    world.store.events(START, 1_000, &Scope::Anyone).await.unwrap().unwrap()
}

fn told(events: &[StoredEvent]) -> Vec<(u64, OrderEvent)> {
    events.iter().map(|event| (event.sequence, event.kind)).collect()
}

/// Registered and paid in one decision, then failed to nobody: a life of one order.
async fn lived(world: &World, order: &Order) {
    let id = order.id;
    world
        .change(id, move |aggregate, _| {
            aggregate.order.status = OrderStatus::AwaitingPayment;
            let made = registration(id, Provider::Sber, 1);
            aggregate.registrations.push(with_state(made, RegistrationState::Live));
        })
        .await
        .unwrap();
    world.advance(Duration::from_secs(5));
    world
        .change(id, |aggregate, _| {
            aggregate.order.status = OrderStatus::Paid;
            aggregate.registrations[0].state = RegistrationState::Paid;
        })
        .await
        .unwrap();
}

pub async fn every_change_that_a_shop_may_care_about_is_told_with_it(world: World) {
    let order = world.store.place(named("shop-1", "A-1")).await.unwrap();
    lived(&world, &order).await;
    let events = world.store.events_of(order.id, 0, 10).await.unwrap();
    let expected = [
        (1, OrderEvent::OrderPlaced),
        (2, OrderEvent::PaymentRegistered),
        (3, OrderEvent::PaymentPaid),
    ];
    assert_eq!(told(&events), expected);
    // each shows the order as it was then, and never who buys
    let then: Vec<_> = events.iter().map(|event| event.aggregate.order.status).collect();
    assert_eq!(then, [OrderStatus::New, OrderStatus::AwaitingPayment, OrderStatus::Paid]);
    assert!(events.iter().all(|event| event.aggregate.order.details.buyer.is_none()));
    assert!(order.details.buyer.is_some());
    let states = events.iter().map(|event| event.aggregate.registrations.first().map(|r| r.state));
    let states: Vec<_> = states.collect();
    assert_eq!(states, [None, Some(RegistrationState::Live), Some(RegistrationState::Paid)]);
    let last = &events[2];
    assert_eq!((last.at, last.aggregate.order.updated_at), (world.now(), world.now()));
    assert_eq!(last.aggregate.order.items, order.items);
    assert_eq!(world.store.events_of(order.id, 1, 1).await.unwrap(), events[1..2]);
}

pub async fn a_change_that_is_refused_or_tells_nothing_leaves_no_event(world: World) {
    let order = world.placed("c-1").await;
    world.change(order.id, |_, _| ()).await.unwrap();
    let id = order.id;
    world
        .change(id, move |aggregate, _| {
            aggregate.order.status = OrderStatus::Registering;
            aggregate.registrations.push(registration(id, Provider::Sber, 1));
        })
        .await
        .unwrap();
    let refused = world
        .change(order.id, |aggregate, _| {
            aggregate.order.status = OrderStatus::Paid;
            aggregate.registrations.clear();
        })
        .await;
    assert!(matches!(refused, Err(StorageError::Corrupt(_))), "{refused:?}");
    assert_eq!(told(&everything(&world).await), [(1, OrderEvent::OrderPlaced)]);
}

/// Whoever reads page by page, while others write, sees each once and each order's in their sequence.
pub async fn a_reader_of_everything_misses_nothing_while_others_write(world: World) {
    let orders = async {
        let live = (0..12).map(|_| async {
            let order = world.placed("c-1").await;
            lived(&world, &order).await;
        });
        futures_util::future::join_all(live).await;
    };
    let reading = async {
        let (mut seen, mut after): (Vec<StoredEvent>, _) = (Vec::new(), START);
        while seen.len() < 36 {
            let page = world.store.events(after, 5, &Scope::Anyone).await.unwrap().unwrap();
            after = page.last().map_or(after, |last| After::Position(last.position));
            seen.extend(page);
            tokio::task::yield_now().await;
        }
        seen
    };
    let (seen, ()) = tokio::join!(reading, orders);
    assert!(seen.windows(2).all(|pair| pair[0].position < pair[1].position));
    let mut of_each: BTreeMap<OrderId, Vec<u64>> = BTreeMap::new();
    for event in &seen {
        of_each.entry(event.aggregate.order.id).or_default().push(event.sequence);
    }
    assert_eq!(of_each.len(), 12);
    assert!(of_each.values().all(|sequences| *sequences == [1, 2, 3]), "{of_each:?}");
}

pub async fn events_are_read_on_from_a_position_or_an_event_within_the_scope(world: World) {
    let (mine, theirs) = (world.placed("c-1").await, world.placed("c-2").await);
    lived(&world, &mine).await;
    let own = Scope::Only(CustomerId::parse("c-1").unwrap());
    let seen = world.store.events(START, 10, &own).await.unwrap().unwrap();
    assert!(seen.iter().all(|event| event.aggregate.order.id == mine.id) && seen.len() == 3);
    let after = |order, sequence| After::Event(EventId { order, sequence });
    let rest = world.store.events(after(mine.id, 1), 10, &own).await.unwrap().unwrap();
    assert_eq!(rest, seen[1..]);
    let nothing_more = After::Position(everything(&world).await.last().unwrap().position);
    assert_eq!(world.store.events(nothing_more, 10, &own).await, Ok(Some(vec![])));
    for unknown in [after(mine.id, 9), after(theirs.id, 1)] {
        assert_eq!(world.store.events(unknown, 10, &own).await, Ok(None));
    }
}
