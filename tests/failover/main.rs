//! A database that moves, stalls and forgets: pairs of real servers, of which the primary is killed and
//! the standby promoted, or stands still.

#![expect(clippy::unwrap_used, reason = "a test")]

mod address;
mod pooler;
mod server;

use address::Address;
use order_service::adapters::outbound::storage::{Settings, Store, connect, migrate};
use order_service::core::domain::ids::{CustomerId, OrderId, ProductId, TaskId};
use order_service::core::domain::money::Money;
use order_service::core::domain::order::{Item, Order};
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::task::{Task, TaskKind, TaskState};
use order_service::core::ports::idempotency::{IdempotencyKey, IdempotentRequest};
use order_service::core::ports::order_repository::{
    LoadOptions, Scope, SideWrites, TxContext, decide,
};
use server::{Server, eventually};
use sqlx::{Connection, Executor, PgConnection};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;

const POOL: u32 = 4;

/// A pair, the address that leads to its primary, and a store at that address.
struct Pair {
    primary: Server,
    standby: Server,
    address: Address,
    store: Arc<dyn Store>,
}

#[derive(Clone, Copy, PartialEq)]
enum Replication {
    Synchronous,
    Asynchronous,
}

impl Pair {
    async fn start(replication: Replication) -> Option<Self> {
        let primary = Server::primary()?;
        migrate(&primary.url()).await.unwrap();
        let standby = Server::standby_of(&primary);
        let mut admin = PgConnection::connect(&primary.url()).await.unwrap();
        if replication == Replication::Synchronous {
            admin.execute("ALTER SYSTEM SET synchronous_standby_names = '*'").await.unwrap();
            admin.execute("SELECT pg_reload_conf()").await.unwrap();
        }
        eventually(Duration::from_secs(20), async || {
            let following = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
            let followers: i64 = sqlx::query_scalar(following).fetch_one(&mut admin).await.unwrap();
            followers == 1
        })
        .await;
        let address = Address::of(primary.port).await;
        let time_limit = Duration::from_secs(1);
        let settings = Settings { max_connections: POOL, time_limit, ..Settings::default() };
        let store = connect(&address.url(), settings).await.unwrap();
        eventually(Duration::from_secs(5), async || store.ping().await.is_ok()).await;
        Some(Self { primary, standby, address, store })
    }

    /// The primary dies, and the address leads to the standby, which is promoted.
    fn fail_over(&self) {
        self.primary.kill();
        self.standby.promote();
        self.address.lead_to(self.standby.port);
    }

    /// From now on the standby gets nothing more.
    async fn unlink(&self) {
        let mut standby = PgConnection::connect(&self.standby.url()).await.unwrap();
        standby.execute("ALTER SYSTEM SET primary_conninfo = ''").await.unwrap();
        standby.execute("SELECT pg_reload_conf()").await.unwrap();
        let mut primary = PgConnection::connect(&self.primary.url()).await.unwrap();
        eventually(Duration::from_secs(10), async || {
            let followers = sqlx::query_scalar("SELECT count(*) FROM pg_stat_replication");
            let followers: i64 = followers.fetch_one(&mut primary).await.unwrap();
            followers == 0
        })
        .await;
    }

    async fn ready_again(&self, within: Duration) -> Duration {
        eventually(within, async || self.store.ping().await.is_ok()).await
    }
}

/// Clients that place orders until they are aborted, and the orders that they were answered.
fn placing(store: &Arc<dyn Store>, clients: usize) -> (JoinSet<()>, Arc<Mutex<Vec<OrderId>>>) {
    let answered = Arc::new(Mutex::new(Vec::new()));
    let mut working = JoinSet::new();
    for _ in 0..clients {
        let (store, answered) = (Arc::clone(store), Arc::clone(&answered));
        working.spawn(async move {
            loop {
                let order = order();
                let key = format!("{:032x}", fastrand::u128(..));
                let key = IdempotencyKey { owner: "o".into(), route: "POST /v1/orders", key };
                let request = IdempotentRequest { key, fingerprint: [1; 32] };
                let id = order.id;
                if store.place_once(order, request).await.is_ok() {
                    answered.lock().unwrap().push(id);
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
    }
    (working, answered)
}

fn order() -> Order {
    let item = Item {
        product_id: ProductId::parse("p-1").unwrap(),
        name: "Thing".into(),
        quantity: 1,
        unit_price: Money::rub(100).unwrap(),
        price_stale: false,
        vat: None,
    };
    let id = OrderId::new(Timestamp::from_micros(1), fastrand::u128(..));
    let customer = CustomerId::parse("c-1").unwrap();
    Order::place(id, customer, vec![item], Timestamp::from_micros(1)).unwrap()
}

/// As confirming an order does.
async fn queue_a_task(store: &dyn Store) {
    let order_id = store.place(order()).await.unwrap().id;
    let queue = move |aggregate: &mut OrderAggregate, context: &TxContext| {
        aggregate.tasks.push(task(order_id, context.now));
        ((), SideWrites::default())
    };
    decide(store, order_id, LoadOptions::Aggregate, queue).await.unwrap().unwrap();
}

fn task(order_id: OrderId, now: Timestamp) -> Task {
    Task {
        id: TaskId::new(fastrand::u128(..)),
        order_id,
        kind: TaskKind::RegisterPayment,
        state: TaskState::Queued,
        reason: None,
        run_at: now,
        lane: None,
        attempts: 0,
        lost_leases: 0,
        deadline: now + Duration::from_secs(60),
        lease: None,
        result: None,
        error: None,
        settled: None,
        dispute: None,
        trace: None,
        return_url: None,
        form_lifetime: None,
        version: 1,
        created_at: now,
        updated_at: now,
    }
}

async fn lost(store: &dyn Store, answered: &[OrderId]) -> usize {
    let mut lost = 0;
    for id in answered {
        lost += usize::from(store.aggregate(*id, &Scope::Anyone).await.unwrap().is_none());
    }
    lost
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_synchronous_primary_loses_no_answered_order() {
    let Some(pair) = Pair::start(Replication::Synchronous).await else { return };
    let (working, answered) = placing(&pair.store, 8);
    eventually(Duration::from_secs(20), async || answered.lock().unwrap().len() > 200).await;
    pair.fail_over();
    let out = pair.ready_again(Duration::from_secs(2)).await;
    let before = answered.lock().unwrap().len();
    eventually(Duration::from_secs(10), async || answered.lock().unwrap().len() > before + 50)
        .await;
    drop(working);
    let answered = answered.lock().unwrap().clone();
    assert_eq!(lost(&*pair.store, &answered).await, 0, "of {}", answered.len());
    let durability = pair.store.durability();
    assert_eq!((durability.timeline, durability.suspicions), (2, 0), "after {out:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_that_lagged_is_suspected_to_have_forgotten() {
    let Some(pair) = Pair::start(Replication::Asynchronous).await else { return };
    assert!(pair.store.durability().can_forget);
    pair.unlink().await;
    let (working, answered) = placing(&pair.store, 2);
    eventually(Duration::from_secs(20), async || answered.lock().unwrap().len() > 50).await;
    drop(working);
    pair.fail_over();
    pair.ready_again(Duration::from_secs(10)).await;
    let answered = answered.lock().unwrap().clone();
    assert!(lost(&*pair.store, &answered).await > 0, "the test wants a loss");
    assert_eq!(pair.store.durability().suspicions, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_comes_back_from_the_dead_is_not_written_to() {
    let Some(pair) = Pair::start(Replication::Synchronous).await else { return };
    pair.fail_over();
    pair.ready_again(Duration::from_secs(5)).await;
    let alone = "ALTER SYSTEM SET synchronous_standby_names = ''";
    pair.primary.start();
    let mut zombie = PgConnection::connect(&pair.primary.url()).await.unwrap();
    zombie.execute(alone).await.unwrap();
    zombie.execute("SELECT pg_reload_conf()").await.unwrap();
    pair.address.lead_to(pair.primary.port);
    let (working, _) = placing(&pair.store, 4);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(pair.store.ping().await.is_err());
    drop(working);
    let written = sqlx::query_scalar("SELECT count(*) FROM orders").fetch_one(&mut zombie);
    let written: i64 = written.await.unwrap();
    assert_eq!(written, 0);
    pair.address.lead_to(pair.standby.port);
    pair.ready_again(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hung_standby_takes_no_more_than_twice_the_pool() {
    let Some(pair) = Pair::start(Replication::Synchronous).await else { return };
    let mut admin = PgConnection::connect(&pair.primary.url()).await.unwrap();
    let (working, answered) = placing(&pair.store, 40);
    eventually(Duration::from_secs(20), async || answered.lock().unwrap().len() > 100).await;
    pair.standby.freeze();
    eventually(Duration::from_secs(10), async || pair.store.ping().await.is_err()).await;
    let mut most = 0;
    for _ in 0..40 {
        // One connection listens.
        let ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'order-service' \
            AND query NOT LIKE 'LISTEN%'";
        let held: i64 = sqlx::query_scalar(ours).fetch_one(&mut admin).await.unwrap();
        most = most.max(held);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(most <= 2 * i64::from(POOL) + 1, "{most} connections");
    assert!(pair.store.connections().abandoned > 0);
    assert!(pair.store.ping().await.is_err());
    pair.standby.thaw();
    pair.ready_again(Duration::from_secs(5)).await;
    let before = answered.lock().unwrap().len();
    eventually(Duration::from_secs(5), async || answered.lock().unwrap().len() > before + 40).await;
    drop(working);
    let answered = answered.lock().unwrap().clone();
    assert_eq!(lost(&*pair.store, &answered).await, 0);
    eventually(Duration::from_secs(5), async || pair.store.connections().abandoned == 0).await;
}
