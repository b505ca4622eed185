//! Webhooks: each event once for each endpoint that wants it, in order for each order, by one instance at a time.

use crate::world::World;
use order_service::core::domain::ids::{
    CustomerId, EventId, LeaseToken, OrderId, WebhookEndpointId,
};
use order_service::core::domain::order::OrderStatus;
use order_service::core::domain::webhook::SigningKeys;
use order_service::core::payment::order_event::OrderEvent;
use order_service::core::ports::order_repository::Scope;
use order_service::core::ports::webhook_endpoints::{
    AttemptRecord, DeliveryQuery, DeliveryState, DeliveryStep, DisabledReason, EndpointChange,
    KeyGeneration, Redelivery, WebhookDelivery, WebhookEndpoint,
};
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

fn new_endpoint(number: u128, scope: Scope, event_types: &[OrderEvent]) -> WebhookEndpoint {
    WebhookEndpoint {
        id: WebhookEndpointId::new(number),
        owner: "shop".into(),
        scope,
        url: "https://shop.example/hooks".into(),
        event_types: event_types.to_vec(),
        description: "books".into(),
        disabled: None,
        keys: vec![KeyGeneration { keys: SigningKeys::new([1, 2, 3, 4]), until: None }],
        created_at: crate::world::START,
        updated_at: crate::world::START,
    }
}

async fn registered(world: &World, number: u128) -> WebhookEndpoint {
    let endpoint = new_endpoint(number, Scope::Anyone, &[]);
    world.store.add_endpoint(&endpoint, 10).await.unwrap().unwrap()
}

const fn token(number: u128) -> LeaseToken {
    LeaseToken::new(number)
}

async fn cancelled(world: &World, order: OrderId) {
    world.change(order, |d, _| d.order.status = OrderStatus::Cancelled).await.unwrap();
}

async fn due(world: &World, endpoint: &WebhookEndpoint) -> Vec<(EventId, OrderEvent)> {
    let due = world.store.due_deliveries(endpoint.id, 100).await.unwrap();
    due.into_iter().map(|one| (one.event, one.kind)).collect()
}

async fn all(world: &World, endpoint: &WebhookEndpoint) -> Vec<WebhookDelivery> {
    let query = DeliveryQuery { state: None, before: None, limit: 100 };
    world.store.deliveries(endpoint.id, &query).await.unwrap()
}

async fn fan_out(world: &World) {
    while world.store.fan_out(100).await.unwrap() > 0 {}
}

fn step(state: DeliveryState, attempts: u32, due_in: Duration) -> DeliveryStep {
    let attempt = AttemptRecord {
        at: crate::world::START,
        status: Some(500),
        error: None,
        took: Duration::from_millis(12),
        excerpt: "no\0".into(),
    };
    DeliveryStep { state, attempts, due_in, attempt: Some(attempt) }
}

/// Claims the only endpoint that is due and settles what is due at it.
async fn deliver_all(world: &World, number: u128) -> usize {
    let claimed = world.store.claim_endpoints(token(number), LEASE, 10).await.unwrap();
    let mut delivered = 0;
    for endpoint in &claimed {
        let lease = (endpoint.id, token(number));
        for one in world.store.due_deliveries(endpoint.id, 100).await.unwrap() {
            let step = step(DeliveryState::Delivered, 1, Duration::ZERO);
            assert!(world.store.record_attempt(lease, one.id, &step).await.unwrap());
            delivered += 1;
        }
        world.store.release_endpoint(lease, Duration::ZERO, None).await.unwrap();
    }
    delivered
}

pub async fn an_endpoint_reads_back_and_is_its_owners_alone(world: World) {
    let customer = Scope::Only(CustomerId::parse("c-1").unwrap());
    let endpoint = new_endpoint(1, customer, &[OrderEvent::PaymentPaid, OrderEvent::OrderPlaced]);
    let added = world.store.add_endpoint(&endpoint, 1).await.unwrap().unwrap();
    let expected = WebhookEndpoint { created_at: world.now(), updated_at: world.now(), ..endpoint };
    assert_eq!(added, expected);
    assert_eq!(world.store.endpoints("shop").await, Ok(vec![added.clone()]));
    assert_eq!(world.store.endpoint("shop", added.id).await, Ok(Some(added.clone())));
    assert_eq!(world.store.endpoint("other", added.id).await, Ok(None));
    let second = new_endpoint(2, Scope::Anyone, &[]);
    assert_eq!(world.store.add_endpoint(&second, 1).await, Ok(None), "no more than so many");

    world.advance(SECOND);
    let keys = vec![
        KeyGeneration { keys: SigningKeys::new([9; 4]), until: None },
        KeyGeneration { until: Some(world.now()), ..added.keys[0].clone() },
    ];
    let change = EndpointChange {
        url: Some("https://shop.example/other".into()),
        disabled: Some(Some(DisabledReason::ByOwner)),
        keys: Some(keys.clone()),
        ..EndpointChange::default()
    };
    assert_eq!(world.store.change_endpoint("other", added.id, &change).await, Ok(None));
    let changed = world.store.change_endpoint("shop", added.id, &change).await.unwrap().unwrap();
    let url = "https://shop.example/other".to_owned();
    let disabled = Some(DisabledReason::ByOwner);
    let expected =
        WebhookEndpoint { url, disabled, keys, updated_at: world.now(), ..added.clone() };
    assert_eq!(changed, expected);
    assert_eq!(world.store.remove_endpoint("other", added.id).await, Ok(false));
    assert_eq!(world.store.remove_endpoint("shop", added.id).await, Ok(true));
    assert_eq!(world.store.remove_endpoint("shop", added.id).await, Ok(false));
}

pub async fn an_endpoint_is_told_of_what_happens_from_then_on_and_only_of_what_it_wants(
    world: World,
) {
    let before = world.placed("c-1").await.id;
    let everything = registered(&world, 1).await;
    let own = Scope::Only(CustomerId::parse("c-2").unwrap());
    let own = world.store.add_endpoint(&new_endpoint(2, own, &[]), 10).await.unwrap().unwrap();
    let cancels = new_endpoint(3, Scope::Anyone, &[OrderEvent::OrderCancelled]);
    let cancels = world.store.add_endpoint(&cancels, 10).await.unwrap().unwrap();
    let (one, two) = (world.placed("c-1").await.id, world.placed("c-2").await.id);
    cancelled(&world, before).await;
    cancelled(&world, two).await;
    fan_out(&world).await;
    fan_out(&world).await;
    let told = async |endpoint| {
        let mut told: Vec<_> = all(&world, endpoint).await;
        told.reverse();
        told.into_iter().map(|one| (one.event.order, one.event.sequence)).collect::<Vec<_>>()
    };
    assert_eq!(told(&everything).await, [(one, 1), (two, 1), (before, 2), (two, 2)]);
    assert_eq!(told(&own).await, [(two, 1), (two, 2)]);
    assert_eq!(told(&cancels).await, [(before, 2), (two, 2)]);
}

pub async fn later_events_of_an_order_wait_for_the_earlier_ones(world: World) {
    let endpoint = registered(&world, 1).await;
    let (one, two) = (world.placed("c-1").await.id, world.placed("c-1").await.id);
    cancelled(&world, one).await;
    fan_out(&world).await;
    let event = |order, sequence| EventId { order, sequence };
    let placed = OrderEvent::OrderPlaced;
    let first = [(event(one, 1), placed), (event(two, 1), placed)];
    assert_eq!(due(&world, &endpoint).await, first);

    let claimed = world.store.claim_endpoints(token(1), LEASE, 10).await.unwrap();
    assert_eq!(claimed, std::slice::from_ref(&endpoint));
    let lease = (endpoint.id, token(1));
    let id = world.store.due_deliveries(endpoint.id, 1).await.unwrap()[0].id;
    let again = step(DeliveryState::Pending, 1, 10 * SECOND);
    assert!(world.store.record_attempt(lease, id, &again).await.unwrap());
    assert_eq!(due(&world, &endpoint).await, [(event(two, 1), placed)], "the other order goes on");
    world.store.release_endpoint(lease, Duration::ZERO, None).await.unwrap();
    assert_eq!(deliver_all(&world, 2).await, 1);
    assert_eq!(deliver_all(&world, 3).await, 0, "nothing is due");
    world.advance(10 * SECOND);
    assert_eq!(deliver_all(&world, 4).await, 1);
    assert_eq!(deliver_all(&world, 5).await, 1, "and now the second of it");
    let settled = all(&world, &endpoint).await;
    assert!(settled.iter().all(|one| one.state == DeliveryState::Delivered));
    let attempt = settled.last().unwrap().last_attempt.clone().unwrap();
    assert_eq!((attempt.status, attempt.took), (Some(500), Duration::from_millis(12)));
}

pub async fn an_endpoint_is_one_instances_until_its_lease_is_over(world: World) {
    let endpoint = registered(&world, 1).await;
    world.placed("c-1").await;
    fan_out(&world).await;
    assert_eq!(world.store.claim_endpoints(token(1), LEASE, 10).await.unwrap().len(), 1);
    assert_eq!(world.store.claim_endpoints(token(2), LEASE, 10).await.unwrap(), []);
    world.advance(LEASE);
    assert_eq!(world.store.claim_endpoints(token(2), LEASE, 10).await.unwrap().len(), 1);
    let id = world.store.due_deliveries(endpoint.id, 1).await.unwrap()[0].id;
    let delivered = step(DeliveryState::Delivered, 1, Duration::ZERO);
    let late = world.store.record_attempt((endpoint.id, token(1)), id, &delivered).await;
    assert_eq!(late, Ok(false), "whoever lost the lease has nothing to say");
    let ours = world.store.record_attempt((endpoint.id, token(2)), id, &delivered).await;
    assert_eq!(ours, Ok(true));
    world.store.release_endpoint((endpoint.id, token(1)), 100 * SECOND, None).await.unwrap();
    world.store.release_endpoint((endpoint.id, token(2)), Duration::ZERO, None).await.unwrap();
    world.placed("c-1").await;
    fan_out(&world).await;
    assert_eq!(deliver_all(&world, 3).await, 1, "what comes later wakes it");
}

pub async fn a_pause_holds_and_a_disabled_endpoint_rests_until_it_is_enabled(world: World) {
    let endpoint = registered(&world, 1).await;
    let order = world.placed("c-1").await.id;
    fan_out(&world).await;
    world.store.claim_endpoints(token(1), LEASE, 10).await.unwrap();
    world.store.release_endpoint((endpoint.id, token(1)), 10 * SECOND, None).await.unwrap();
    assert_eq!(deliver_all(&world, 2).await, 0);
    world.advance(10 * SECOND);
    world.store.claim_endpoints(token(3), LEASE, 10).await.unwrap();
    let gone = Some(DisabledReason::Gone);
    world.store.release_endpoint((endpoint.id, token(3)), Duration::ZERO, gone).await.unwrap();
    let seen = world.store.endpoint("shop", endpoint.id).await.unwrap().unwrap();
    assert_eq!(seen.disabled, gone);
    cancelled(&world, order).await;
    fan_out(&world).await;
    world.advance(100 * SECOND);
    assert_eq!(deliver_all(&world, 4).await, 0);
    let enable = EndpointChange { disabled: Some(None), ..EndpointChange::default() };
    world.store.change_endpoint("shop", endpoint.id, &enable).await.unwrap();
    fan_out(&world).await;
    assert_eq!(deliver_all(&world, 5).await, 1, "what waited; not what happened meanwhile");
    let stats = world.store.webhook_stats().await.unwrap();
    assert_eq!((stats.enabled, stats.disabled, stats.pending, stats.oldest), (1, 0, 0, None));
}

pub async fn what_was_sent_is_sent_once_more_when_its_shop_asks(world: World) {
    let begun = world.now();
    let order = world.placed("c-1").await.id;
    let endpoint = registered(&world, 1).await;
    cancelled(&world, order).await;
    fan_out(&world).await;
    let stats = world.store.webhook_stats().await.unwrap();
    assert_eq!((stats.pending, stats.oldest), (1, Some(world.now())));
    assert_eq!(deliver_all(&world, 1).await, 1);
    let event = EventId { order, sequence: 2 };
    let again = async |what| world.store.redeliver(endpoint.id, what, 100).await.unwrap();
    assert_eq!(again(Redelivery::Event(event)).await, 1);
    assert_eq!(again(Redelivery::Event(EventId { order, sequence: 9 })).await, 0);
    let due_now = world.store.due_deliveries(endpoint.id, 10).await.unwrap();
    assert_eq!((due_now[0].event, due_now[0].attempts), (event, 0));
    assert_eq!(deliver_all(&world, 2).await, 1);
    assert_eq!(again(Redelivery::FailedSince(begun)).await, 0);
    assert_eq!(again(Redelivery::AllSince(begun)).await, 2, "also what was before it");
    assert_eq!(again(Redelivery::AllSince(begun)).await, 0, "it is on its way already");
    assert_eq!(
        due(&world, &endpoint).await,
        [(EventId { order, sequence: 1 }, OrderEvent::OrderPlaced)]
    );

    world.store.claim_endpoints(token(3), LEASE, 10).await.unwrap();
    let lease = (endpoint.id, token(3));
    let id = world.store.due_deliveries(endpoint.id, 1).await.unwrap()[0].id;
    let failed = step(DeliveryState::Failed, 8, Duration::ZERO);
    assert!(world.store.record_attempt(lease, id, &failed).await.unwrap());
    world.store.release_endpoint(lease, Duration::ZERO, None).await.unwrap();
    assert_eq!(deliver_all(&world, 4).await, 1, "a failure does not hold up what follows");
    let query = DeliveryQuery { state: Some(DeliveryState::Failed), before: None, limit: 9 };
    assert_eq!(world.store.deliveries(endpoint.id, &query).await.unwrap().len(), 1);
    assert_eq!(again(Redelivery::FailedSince(begun)).await, 1);
}
