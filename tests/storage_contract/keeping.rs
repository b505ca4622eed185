//! What is kept beside the orders: outcomes of keys, callbacks, audit; and for how long.

use crate::world::{World, kept_for, named, order, registration};
use order_service::adapters::observe::service_mode::{Mode, ModeChange, ServiceMode};
use order_service::adapters::observe::storage_upkeep::{AuditQuery, Retention};
use order_service::core::domain::details::OrderDetails;
use order_service::core::domain::ids::{OrderId, ProductId, TaskId};
use order_service::core::domain::order::{Order, OrderInvalid, OrderStatus};
use order_service::core::domain::provider::{Provider, ProviderNumber};
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::task::TaskState;
use order_service::core::ports::idempotency::{
    IdempotencyKey, IdempotencyRecord, IdempotentRequest, KeptOutcome, Refusal,
};
use order_service::core::ports::order_repository::{
    AuditEntry, InboxEntry, LoadOptions, Scope, SideWrites, decide,
};
use order_service::core::ports::storage_error::StorageError;
use order_service::core::ports::task_queue::TaskQuery;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

fn refund_request(name: &str) -> IdempotentRequest {
    let key =
        IdempotencyKey { owner: "o".into(), route: "/v1/orders/{id}/refund", key: name.into() };
    IdempotentRequest { key, fingerprint: [9; 32] }
}

fn record(outcome: KeptOutcome) -> IdempotencyRecord {
    IdempotencyRecord { fingerprint: [9; 32], outcome }
}

fn callback(event: Option<&str>) -> InboxEntry {
    InboxEntry {
        provider: Provider::Sber,
        number: ProviderNumber::told("nobody's\0"),
        event_id: event.map(str::to_owned),
        kind: "deposited".into(),
        signed: true,
    }
}

/// Cancels the order and keeps this with it.
async fn cancel(
    world: &World,
    id: OrderId,
    writes: SideWrites,
) -> Result<Option<()>, StorageError> {
    let decision = move |aggregate: &mut OrderAggregate, _: &_| {
        aggregate.order.status = OrderStatus::Cancelled;
        ((), writes.clone())
    };
    decide(&*world.store, id, LoadOptions::Aggregate, decision).await
}

pub async fn the_first_outcome_of_a_key_stays(world: World) {
    let (request, store) = (refund_request("k"), &world.store);
    assert_eq!(store.find(&request.key).await, Ok(None));
    let (first, second) = (
        KeptOutcome::Refused(Refusal::RefundExceeds),
        KeptOutcome::Refused(Refusal::NotRefundable(OrderStatus::New)),
    );
    assert_eq!(store.keep(request.clone(), first.clone()).await, Ok(true));
    let other = IdempotentRequest { fingerprint: [1; 32], ..request.clone() };
    assert_eq!(store.keep(other, second).await, Ok(false));
    assert_eq!(store.find(&request.key).await, Ok(Some(record(first))));
    let elsewhere = IdempotencyKey { owner: "other".into(), ..request.key };
    assert_eq!(store.find(&elsewhere).await, Ok(None));
}

pub async fn every_outcome_reads_back(world: World) {
    let tea = ProductId::parse("tea_1.x-Y").unwrap();
    let invalid = OrderInvalid::ALL.into_iter().map(|invalid| Refusal::OrderInvalid(Some(invalid)));
    let status = OrderStatus::ALL.into_iter().map(Refusal::NotRefundable);
    let others = [
        Refusal::OrderInvalid(None),
        Refusal::ProductsNotFound(vec![tea.clone()]),
        Refusal::ProductsNotFound(vec![tea.clone(), ProductId::parse("p-2").unwrap()]),
        Refusal::CurrencyNotSupported(vec![tea]),
        Refusal::CurrencyNotSupported(Vec::new()),
        Refusal::RefundExceeds,
        Refusal::RefundRejected,
    ];
    let refusals = invalid.chain(status).chain(others).map(KeptOutcome::Refused);
    let effects =
        [KeptOutcome::Placed(order("c-1").id), KeptOutcome::Refunding(TaskId::new(u128::MAX))];
    for (place, outcome) in refusals.chain(effects).enumerate() {
        let request = refund_request(&format!("ключ «{place}» \"'"));
        assert_eq!(world.store.keep(request.clone(), outcome.clone()).await, Ok(true));
        assert_eq!(world.store.find(&request.key).await, Ok(Some(record(outcome))));
    }
}

pub async fn a_decision_whose_key_is_taken_is_undone(world: World) {
    let (first, second) = (world.placed("c-1").await.id, world.placed("c-1").await.id);
    let outcome = KeptOutcome::Refunding(TaskId::new(7));
    let kept = Some((refund_request("k"), outcome.clone()));
    let writes = SideWrites { kept, ..SideWrites::default() };
    assert_eq!(cancel(&world, first, writes.clone()).await, Ok(Some(())));
    let found = world.store.find(&refund_request("k").key).await;
    assert_eq!(found, Ok(Some(record(outcome))));
    assert_eq!(cancel(&world, second, writes).await, Err(StorageError::Unavailable));
    assert_eq!(world.aggregate(first).await.order.status, OrderStatus::Cancelled);
    assert_eq!(world.aggregate(second).await.order.status, OrderStatus::New);
}

pub async fn an_event_is_kept_once(world: World) {
    assert_eq!(world.store.keep_unknown_callback(callback(Some("e-1"))).await, Ok(true));
    assert_eq!(world.store.keep_unknown_callback(callback(Some("e-1"))).await, Ok(false));
    assert_eq!(world.store.keep_unknown_callback(callback(None)).await, Ok(true));
    assert_eq!(world.store.keep_unknown_callback(callback(None)).await, Ok(false));
    let another = InboxEntry { kind: "refunded".into(), ..callback(None) };
    assert_eq!(world.store.keep_unknown_callback(another).await, Ok(true));
    let another = InboxEntry { number: ProviderNumber::told("theirs"), ..callback(None) };
    assert_eq!(world.store.keep_unknown_callback(another).await, Ok(true));
    // With a decision, the repeat is dropped and the decision holds.
    let id = world.placed("c-1").await.id;
    let with_callback = SideWrites { inbox: Some(callback(Some("e-1"))), ..SideWrites::default() };
    assert_eq!(cancel(&world, id, with_callback).await, Ok(Some(())));
    assert_eq!(world.aggregate(id).await.order.status, OrderStatus::Cancelled);
}

pub async fn an_order_is_found_by_whatever_it_is_called(world: World) {
    let (id, other) = (world.queued(None).await, world.placed("c-1").await.id);
    let (id, task) = (id.order_id, id.id);
    for (order, external_id) in [(id, "6f0c-bank"), (other, "another")] {
        world
            .change(order, move |d, _| {
                let mut made = registration(order, Provider::Sber, 1);
                made.external_id = Some(external_id.to_owned());
                d.registrations.push(made);
            })
            .await
            .unwrap();
    }
    let number = registration(id, Provider::Sber, 1).number;
    for name in [number.as_str(), "6f0c-bank", &task.get().to_string()] {
        assert_eq!(world.store.order_named(name).await, Ok(Some(id)), "{name}");
    }
    for name in ["6f0c", "1", "' OR 1=1 --", "nul\0", "99999999999999999999"] {
        assert_eq!(world.store.order_named(name).await, Ok(None), "{name}");
    }
}

pub async fn callbacks_are_found_by_the_numbers_of_their_order(world: World) {
    let (id, other) = (world.placed("c-1").await.id, world.placed("c-1").await.id);
    for order in [id, other] {
        world
            .change(order, move |d, _| d.registrations.push(registration(order, Provider::Sber, 1)))
            .await
            .unwrap();
    }
    let number = registration(id, Provider::Sber, 1).number;
    let told = |event: &str| InboxEntry { number: number.clone(), ..callback(Some(event)) };
    for entry in [told("e-1"), callback(Some("e-2")), told("e-3")] {
        world.store.keep_unknown_callback(entry).await.unwrap();
        world.advance(Duration::from_secs(1));
    }
    let found = world.store.callbacks(id, 9).await.unwrap();
    let entries: Vec<_> = found.iter().map(|record| record.entry.clone()).collect();
    assert_eq!(entries, [told("e-3"), told("e-1")]);
    assert!(found[0].received_at > found[1].received_at);
    assert_eq!(world.store.callbacks(id, 1).await.unwrap(), found[..1]);
    assert_eq!(world.store.callbacks(other, 9).await, Ok(vec![]));
}

pub async fn the_time_is_the_databases(world: World) {
    assert_eq!(world.store.now().await, Ok(world.now()));
    world.advance(DAY);
    assert_eq!(world.store.now().await, Ok(world.now()));
}

pub async fn what_an_operator_did_is_committed_with_it(world: World) {
    let task = world.queued(None).await;
    let audit = AuditEntry {
        action: "task.cancel".into(),
        task_id: Some(task.id),
        reason: "asked by the customer".into(),
        by: "anna".into(),
        settles: false,
    };
    let writes = SideWrites { audit: Some(audit), ..SideWrites::default() };
    assert_eq!(cancel(&world, task.order_id, writes).await, Ok(Some(())));
    let nobody = order("c-1").id;
    assert_eq!(cancel(&world, nobody, SideWrites::default()).await, Ok(None));
    let all = AuditQuery { limit: 10, ..AuditQuery::default() };
    let [record] = &world.store.audit(&all).await.unwrap()[..] else { panic!("one record") };
    assert_eq!((record.order, record.task), (Some(task.order_id), Some(task.id)));
    assert_eq!((&*record.action, &*record.by), ("task.cancel", "anna"));
    assert_eq!(record.reason, "asked by the customer");
    let after = AuditQuery { after: Some((record.at, record.id)), ..all.clone() };
    assert_eq!(world.store.audit(&after).await, Ok(vec![]));
    let others = AuditQuery { order: Some(nobody), ..all };
    assert_eq!(world.store.audit(&others).await, Ok(vec![]));
}

/// It is in force for everybody until its time is over, and stays in the audit.
pub async fn the_newest_word_about_the_mode_is_in_force_for_its_time(world: World) {
    let said = |mode, ttl| ModeChange { mode, ttl, reason: "a restore".into(), by: "anna".into() };
    assert_eq!(world.store.service_mode().await, Ok(ServiceMode::default()));
    world.store.change_service_mode(&said(Mode::ReadOnly, None)).await.unwrap();
    world.advance(DAY);
    let now = world.now();
    let answer = world.store.change_service_mode(&said(Mode::ReadOnly, Some(DAY))).await.unwrap();
    let in_force = world.store.service_mode().await.unwrap();
    assert_eq!((answer, in_force.mode), (in_force.clone(), Mode::ReadOnly));
    assert_eq!((in_force.since, in_force.until), (Some(now), Some(now + DAY)));
    assert_eq!((&*in_force.reason, &*in_force.by), ("a restore", "anna"));
    world.advance(DAY);
    assert_eq!(world.store.service_mode().await, Ok(ServiceMode::default()));
    world.store.change_service_mode(&said(Mode::Normal, None)).await.unwrap();
    assert_eq!(world.store.service_mode().await.unwrap().mode, Mode::Normal);

    let page = |limit, after| AuditQuery { order: None, limit, after };
    let all = world.store.audit(&page(10, None)).await.unwrap();
    let told: Vec<_> = all.iter().map(|record| (&*record.action, record.order)).collect();
    let read_only = ("service_mode:read_only", None);
    assert_eq!(told, [("service_mode:normal", None), read_only, read_only]);
    let first = world.store.audit(&page(1, None)).await.unwrap();
    let after = first.last().map(|record| (record.at, record.id));
    assert_eq!(world.store.audit(&page(10, after)).await.unwrap(), all[1..]);
}

/// The answer stays; the list of what waits for a person and the gauges forget it.
pub async fn a_review_that_a_person_closed_leaves_the_list(world: World) {
    let task = world.queued(None).await;
    world.change(task.order_id, |d, _| d.tasks[0].state = TaskState::Review).await.unwrap();
    let reviews =
        || TaskQuery { state: Some(TaskState::Review), limit: 10, ..TaskQuery::default() };
    assert_eq!(world.store.tasks(&reviews()).await.unwrap().len(), 1);
    let audit = AuditEntry {
        action: "resolve_settled".into(),
        task_id: Some(task.id),
        reason: "seen".into(),
        by: "anna".into(),
        settles: true,
    };
    let writes = SideWrites { audit: Some(audit), ..SideWrites::default() };
    decide(&*world.store, task.order_id, LoadOptions::Aggregate, move |_, _| ((), writes.clone()))
        .await
        .unwrap();
    assert_eq!(world.store.tasks(&reviews()).await, Ok(vec![]));
    assert_eq!(world.store.task_stats().await, Ok(vec![]));
    let view = world.store.task(task.id, &Scope::Anyone).await.unwrap().unwrap();
    assert_eq!(view.task.state, TaskState::Review);
    assert_eq!(view.task.settled.map(|(by, _)| by).as_deref(), Some("anna"));
}

pub async fn what_is_older_than_it_is_kept_goes(world: World) {
    let states = [TaskState::Succeeded, TaskState::Review, TaskState::Queued];
    let mut tasks = Vec::new();
    for state in states {
        let task = world.queued(None).await;
        world.change(task.order_id, move |d, _| d.tasks[0].state = state).await.unwrap();
        tasks.push(task.id);
    }
    let refused = KeptOutcome::Refused(Refusal::RefundExceeds);
    world.store.keep(refund_request("old"), refused.clone()).await.unwrap();
    world.advance(DAY);
    let young = world.queued(None).await;
    world.change(young.order_id, |d, _| d.tasks[0].state = TaskState::Failed).await.unwrap();
    world.store.keep(refund_request("young"), refused).await.unwrap();
    let day = kept_for(DAY);
    assert_eq!(world.store.prune(&day).await, Ok(0), "not older than a day");
    world.advance(Duration::from_micros(1));
    assert_eq!(world.store.prune(&day).await, Ok(2));
    assert_eq!(world.store.prune(&day).await, Ok(0));
    assert_eq!(world.store.find(&refund_request("old").key).await, Ok(None));
    assert!(world.store.find(&refund_request("young").key).await.unwrap().is_some());
    for (id, kept) in [(tasks[0], false), (tasks[1], true), (tasks[2], true), (young.id, true)] {
        let found = world.store.task(id, &Scope::Anyone).await.unwrap();
        assert_eq!(found.is_some(), kept);
    }
}

pub async fn each_is_kept_for_its_own_time(world: World) {
    let task = world.queued(None).await;
    let deed = |settles| AuditEntry {
        action: "task.cancel".into(),
        task_id: Some(task.id),
        reason: "asked".into(),
        by: "anna".into(),
        settles,
    };
    world.change(task.order_id, |d, _| d.tasks[0].state = TaskState::Review).await.unwrap();
    let writes = SideWrites { audit: Some(deed(false)), ..SideWrites::default() };
    cancel(&world, task.order_id, writes).await.unwrap();
    world.store.keep_unknown_callback(callback(None)).await.unwrap();
    world.advance(DAY);
    world.store.keep_unknown_callback(callback(None)).await.unwrap();
    world.advance(Duration::from_micros(1));
    let week = kept_for(7 * DAY);
    let gone = async |retention: Retention| world.store.prune(&retention).await.unwrap();
    assert_eq!(gone(week).await, 0);
    assert_eq!(gone(Retention { callbacks: DAY, ..week }).await, 1, "since it first came");
    assert_eq!(gone(Retention { callbacks: DAY, ..week }).await, 0);
    assert_eq!(gone(Retention { audit: DAY, ..week }).await, 1);
    let all = AuditQuery { limit: 10, ..AuditQuery::default() };
    assert_eq!(world.store.audit(&all).await, Ok(vec![]));
    assert_eq!(gone(Retention { tasks: DAY, ..week }).await, 0, "it waits for a person");
    let writes = SideWrites { audit: Some(deed(true)), ..SideWrites::default() };
    cancel(&world, task.order_id, writes).await.unwrap();
    world.advance(2 * DAY);
    assert_eq!(gone(Retention { tasks: DAY, ..week }).await, 1, "a person has closed it");
}

pub async fn a_buyer_is_forgotten_and_the_order_is_not(world: World) {
    let old = world.store.place(named("shop", "A-1")).await.unwrap();
    world.advance(DAY);
    let young = world.store.place(named("shop", "A-2")).await.unwrap();
    let gone = async |retention: Retention| world.store.prune(&retention).await.unwrap();
    let day = Retention { buyers: DAY, ..kept_for(7 * DAY) };
    assert_eq!(gone(day).await, 0, "a day, and not a moment less");
    world.advance(Duration::from_micros(1));
    assert_eq!((gone(day).await, gone(day).await), (1, 0));
    let details = OrderDetails { buyer: None, ..old.details.clone() };
    assert_eq!(world.aggregate(old.id).await.order, Order { details, ..old.clone() });
    assert_eq!(world.aggregate(young.id).await.order, young);
    // Whatever is decided afterwards does not bring it back.
    world.change(old.id, |d, _| d.order.status = OrderStatus::Cancelled).await.unwrap();
    assert_eq!(world.aggregate(old.id).await.order.details.buyer, None);
}

pub async fn a_healthy_store_answers_a_ping(world: World) {
    assert_eq!(world.store.ping().await, Ok(()));
}

pub async fn its_connections_are_counted(world: World) {
    world.store.task_stats().await.unwrap();
    let seen = world.store.connections();
    let pooled = !world.url.is_empty();
    assert_eq!(seen.idle + seen.used > 0, pooled, "{seen:?}");
    assert_eq!(seen.waiting, 0);
}
