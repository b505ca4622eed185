//! A database that an earlier version has left: it is migrated and goes on, with all that it holds.

use crate::world::{START, World, claim};
use order_service::adapters::outbound::storage::{Store, migrate};
use order_service::core::domain::ids::{OrderId, TaskId};
use order_service::core::domain::money::Money;
use order_service::core::domain::order::OrderStatus;
use order_service::core::domain::provider::Provider;
use order_service::core::payment::refund::{Refund, RefundKey, RefundOrigin, RefundState};
use order_service::core::payment::registration::Registration;
use order_service::core::ports::idempotency::{
    IdempotencyKey, IdempotencyRecord, IdempotencyStore, KeptOutcome,
};
use order_service::core::ports::order_repository::{
    LoadOptions, OrderQuery, OrderRepository, Scope, SideWrites, decide,
};
use sqlx::migrate::Migrator;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqliteConnection};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// The last version whose refunds were plans in tasks.
const PLANS_IN_TASKS: i64 = 7;

const LONG: Duration = Duration::from_secs(10);

/// A refund's task as it was, what was known of its registration, and the row that comes of it.
struct Plan {
    state: &'static str,
    reason: &'static str,
    error: &'static str,
    registration: &'static str,
    sent: bool,
    refunded: i64,
    becomes: (RefundState, RefundOrigin),
    /// What was given back without any plan.
    unexplained: i64,
}

const fn plan(state: &'static str, sent: bool, becomes: RefundState) -> Plan {
    Plan {
        state,
        reason: "NULL",
        error: "NULL",
        registration: "paid",
        sent,
        refunded: 0,
        becomes: (becomes, RefundOrigin::Client),
        unexplained: 0,
    }
}

/// Each gives back 100.
fn plans() -> Vec<Plan> {
    use RefundState::{Cancelled, Done, Expired, InDoubt, Planned, Refused, Review};
    let late = |becomes| (becomes, RefundOrigin::LateMoney);
    vec![
        Plan { refunded: 100, ..plan("succeeded", true, Done) },
        Plan { refunded: 300, unexplained: 200, ..plan("succeeded", true, Done) },
        plan("failed", true, Refused),
        Plan { error: "'expired'", ..plan("failed", false, Expired) },
        Plan { refunded: 30, unexplained: 30, ..plan("cancelled", false, Cancelled) },
        Plan { refunded: 30, ..plan("review", true, Review) },
        plan("queued", false, Planned),
        Plan { refunded: 30, ..plan("queued", true, InDoubt) },
        plan("running", true, InDoubt),
        Plan { reason: "'operator'", becomes: late(Planned), ..plan("queued", false, Planned) },
        Plan {
            registration: "surplus",
            refunded: 100,
            becomes: late(Done),
            ..plan("succeeded", true, Done)
        },
    ]
}

/// How a database writes what SQL does not.
#[derive(Clone, Copy)]
enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    fn id(self, number: u128) -> String {
        let id = Uuid::from_u128(number);
        match self {
            Self::Sqlite => format!("X'{}'", id.simple()),
            Self::Postgres => format!("'{id}'"),
        }
    }

    /// As it was kept: a whole body, in bytes.
    fn text(self, body: &str) -> String {
        self.bytes(&body.bytes().map(|byte| format!("{byte:02x}")).collect::<String>())
    }

    fn bytes(self, hex: &str) -> String {
        match self {
            Self::Sqlite => format!("X'{hex}'"),
            Self::Postgres => format!("'\\x{hex}'"),
        }
    }
}

/// An order of each status, a registration of each state, a task of each kind, and the rest.
fn seed(dialect: Dialect) -> String {
    let mut sql = String::new();
    let now = START.micros();
    for (number, (status, registration)) in
        (1_u128..).zip(OrderStatus::ALL.into_iter().zip(REGISTRATIONS))
    {
        sql += &order(dialect, number, status.as_str());
        sql += &self::registration(dialect, number, registration, 0);
        for (kind, id) in [("register_payment", 0), ("cancel_payment", 1), ("sync_payment", 2)] {
            let id = 1_000 + number * 10 + id;
            sql += &task(dialect, number, id, kind, "queued", ["NULL"; 3]);
        }
    }
    for (number, plan) in (PLANS..).zip(plans()) {
        sql += &order(dialect, number, "paid");
        sql += &self::registration(dialect, number, plan.registration, plan.refunded);
        let sent = if plan.sent { now.to_string() } else { "null".to_owned() };
        let before = if plan.sent { "0" } else { "null" };
        let refund = format!(
            "'{{\"amount\":100,\"currency\":\"RUB\",\"before\":{before},\"sent_at\":{sent},\
             \"sends\":{},\"taken\":{},\"unchanged\":2}}'",
            u8::from(plan.sent),
            plan.sent,
        );
        let details = [plan.reason, plan.error, &refund];
        sql += &task(dialect, number, number, "refund_payment", plan.state, details);
    }
    sql += &order(dialect, PRUNED, "refunded");
    sql += &self::registration(dialect, PRUNED, "paid", 500);
    let fingerprint = dialect.bytes(&"09".repeat(32));
    sql += &format!(
        "INSERT INTO callbacks (provider, number, event_id, kind, signed, received_at) \
         VALUES ('sber', 'N1', 'e', 'deposited', true, {now}); \
         INSERT INTO audit (at, action, order_id, task_id, reason) \
         VALUES ({now}, 'task.retry', {}, 1, 'why'); \
         INSERT INTO idempotency_keys (owner, route, key, fingerprint, status, body, created_at) \
         VALUES ('o', 'POST /v1/orders', 'k', {fingerprint}, 201, {}, {now}), \
         ('o', 'POST /v1/orders/{{id}}/refund', 'k', {fingerprint}, 202, {}, {now});",
        dialect.id(1),
        dialect
            .text(&format!(r#"{{"id":"{}","status":"new","task_id":null}}"#, Uuid::from_u128(1))),
        dialect.text(r#"{"status":"queued","order_id":"x","task_id":1001}"#),
    );
    sql
}

/// The first order with a plan, and the one whose refunds were forgotten.
const PLANS: u128 = 100;
const PRUNED: u128 = 200;

const REGISTRATIONS: [&str; 7] = ["absent", "intent", "live", "paid", "unknown", "dead", "surplus"];

fn order(dialect: Dialect, number: u128, status: &str) -> String {
    let (id, now) = (dialect.id(number), START.micros());
    format!(
        "INSERT INTO orders (id, customer_id, status, items, total, currency, created_at, \
         updated_at, version) VALUES ({id}, 'c-1', '{status}', '[]', 1000, 'RUB', {now}, {now}, 3);"
    )
}

fn registration(dialect: Dialect, number: u128, state: &str, refunded: i64) -> String {
    let (id, now) = (dialect.id(number), START.micros());
    format!(
        "INSERT INTO registrations (order_id, provider, sequence, number, amount, refunded, \
         currency, state, not_found, cancel_sent_at, hinted, evidence, created_at, updated_at) \
         VALUES ({id}, 'sber', 1, 'N{number}', 1000, {refunded}, 'RUB', '{state}', 0, {now}, true, \
         'told', {now}, {now});"
    )
}

fn task(
    dialect: Dialect,
    number: u128,
    id: u128,
    kind: &str,
    state: &str,
    [reason, error, refund]: [&str; 3],
) -> String {
    let (order, now) = (dialect.id(number), START.micros());
    let (owner, token, until) = if state == "running" {
        ("'i-1'".to_owned(), dialect.id(7), now.to_string())
    } else {
        ("NULL".to_owned(), "NULL".to_owned(), "NULL".to_owned())
    };
    format!(
        "INSERT INTO tasks (id, order_id, kind, state, reason, run_at, lane, attempts, lost_leases, \
         deadline, lease_owner, lease_token, lease_until, result_provider, result_sequence, error, refund, \
         created_at, updated_at, version) VALUES ({id}, {order}, '{kind}', '{state}', {reason}, \
         {now}, 'any', 0, 0, {now}, {owner}, {token}, {until}, 'sber', 1, {error}, {refund}, {now}, {now}, 2);"
    )
}

async fn migrations(folder: &str) -> Migrator {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(folder);
    Migrator::new(folder).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_an_earlier_version_is_migrated_and_goes_on() {
    let world = World::sqlite().await;
    let url = world.url.replace("orders.db", "earlier.db");
    let mut file = SqliteConnection::connect(&format!("{url}?mode=rwc")).await.unwrap();
    migrations("sqlite").await.run_to(PLANS_IN_TASKS, &mut file).await.unwrap();
    file.execute(AssertSqlSafe(seed(Dialect::Sqlite))).await.unwrap();
    file.close().await.unwrap();
    migrate(&url).await.unwrap();
    goes_on(world.another(&url, LONG).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_an_earlier_version_is_migrated_and_goes_on() {
    let Some(world) = World::postgres().await else { return };
    let mut server = PgConnection::connect(&world.url).await.unwrap();
    server.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public").await.unwrap();
    migrations("postgres").await.run_to(PLANS_IN_TASKS, &mut server).await.unwrap();
    server.execute(AssertSqlSafe(seed(Dialect::Postgres))).await.unwrap();
    server.close().await.unwrap();
    migrate(&world.url).await.unwrap();
    goes_on(world.another(&world.url, LONG).await).await;
    world.ending().await;
}

async fn goes_on(store: Arc<dyn Store>) {
    let all = OrderQuery { limit: 999, ..OrderQuery::default() };
    let orders = store.list(&all, &Scope::Anyone).await.unwrap();
    assert_eq!(orders.len(), OrderStatus::ALL.len() + plans().len() + 1);
    for (number, plan) in (PLANS..).zip(plans()) {
        let mut expected = vec![migrated(number, &plan)];
        expected.extend(unexplained(plan.unexplained));
        let found = refunds(&*store, number).await;
        assert_eq!(found, expected, "{} {}", plan.state, plan.registration);
    }
    assert_eq!(refunds(&*store, PRUNED).await, Vec::from_iter(unexplained(500)));
    later_callback(&*store).await;
    kept_replies(&*store).await;
    let due = store.claim(&claim("i-2", &[(None, 99)])).await.unwrap();
    let unfinished = ["queued", "running"];
    let planned = plans().iter().filter(|plan| unfinished.contains(&plan.state)).count();
    assert_eq!(due.len(), OrderStatus::ALL.len() * 3 + planned);
    for order in orders {
        let change = |aggregate: &mut _, _: &_| (settle(aggregate), SideWrites::default());
        let settled = decide(&*store, order.order.id, LoadOptions::Aggregate, change).await;
        assert!(settled.is_ok(), "{settled:?}");
    }
    let states: Vec<_> = refunds(&*store, PLANS + 6).await.iter().map(|r| r.state).collect();
    assert_eq!(states, [RefundState::Refused]);
}

/// Whole bodies that an earlier version kept say what they stand for.
async fn kept_replies(store: &dyn IdempotencyStore) {
    let key = |route| IdempotencyKey { owner: "o".into(), route, key: "k".into() };
    let record = |outcome| IdempotencyRecord { fingerprint: [9; 32], outcome };
    let placed = KeptOutcome::Placed(OrderId::from_uuid(Uuid::from_u128(1)));
    assert_eq!(store.find(&key("POST /v1/orders")).await, Ok(Some(record(placed))));
    let refunding = KeptOutcome::Refunding(TaskId::new(1001));
    let found = store.find(&key("POST /v1/orders/{id}/refund")).await;
    assert_eq!(found, Ok(Some(record(refunding))));
}

/// What an earlier version knew of it in other words.
async fn later_callback(store: &dyn OrderRepository) {
    let live = registration_of(store, 3).await;
    assert_eq!((live.given_up_at, live.sync_requested_at), (Some(START), Some(START)));
    let paid = registration_of(store, 4).await;
    assert_eq!((paid.given_up_at, paid.paid_late, paid.looks), (None, false, 0));
    let operators = plans().iter().position(|plan| plan.reason == "'operator'").unwrap();
    let late = registration_of(store, PLANS + u128::try_from(operators).unwrap()).await;
    assert!(late.paid_late);
}

async fn registration_of(store: &dyn OrderRepository, number: u128) -> Registration {
    let id = OrderId::from_uuid(Uuid::from_u128(number));
    store.aggregate(id, &Scope::Anyone).await.unwrap().unwrap().registrations.remove(0)
}

fn settle(aggregate: &mut order_service::core::payment::OrderAggregate) {
    aggregate.refunds.iter_mut().for_each(|refund| refund.state = RefundState::Refused);
    aggregate.tasks.iter_mut().for_each(|task| task.attempts += 1);
    aggregate.order.status = OrderStatus::Paid;
}

async fn refunds(store: &dyn OrderRepository, number: u128) -> Vec<Refund> {
    let id = OrderId::from_uuid(Uuid::from_u128(number));
    store.aggregate(id, &Scope::Anyone).await.unwrap().unwrap().refunds
}

fn migrated(number: u128, plan: &Plan) -> Refund {
    let (state, origin) = plan.becomes;
    let task = TaskId::new(number);
    let key = RefundKey::stored(&format!("R{number}"));
    let amount = Money::rub(100).unwrap();
    let planned = Refund::planned(key, (Provider::Sber, 1), amount, origin, task, START);
    Refund {
        state,
        told_before: plan.sent.then(|| Money::rub(0).unwrap()),
        sent_at: plan.sent.then_some(START),
        sends: u32::from(plan.sent),
        acknowledged: plan.sent,
        unchanged: 2,
        ..planned
    }
}

fn unexplained(minor: i64) -> Option<Refund> {
    let key = RefundKey::stored("seen-sber-1");
    let amount = Money::rub(minor).unwrap();
    (minor > 0).then(|| Refund::seen_elsewhere(key, (Provider::Sber, 1), amount, START))
}
