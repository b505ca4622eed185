//! A store of each sort, a clock that the test turns, and things to put into the store.

use order_service::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use order_service::adapters::observe::storage_upkeep::Retention;
use order_service::adapters::outbound::storage::{MemoryStore, Settings, Store, connect, migrate};
use order_service::core::domain::details::{Buyer, ExternalId, OrderDetails, ShopReference, Vat};
use order_service::core::domain::ids::{
    CustomerId, InstanceId, LeaseToken, OrderId, ProductId, TaskId,
};
use order_service::core::domain::money::Money;
use order_service::core::domain::order::{Item, Order};
use order_service::core::domain::provider::{Provider, ProviderNumber};
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::refund::{Refund, RefundKey, RefundOrigin};
use order_service::core::payment::registration::{Registration, RegistrationState};
use order_service::core::payment::task::{Lease, Task, TaskKind, TaskState};
use order_service::core::ports::clock::Clock;
use order_service::core::ports::idempotency::{IdempotencyKey, IdempotentRequest};
use order_service::core::ports::order_repository::{
    LoadOptions, Scope, SideWrites, TxContext, decide,
};
use order_service::core::ports::storage_error::StorageError;
use order_service::core::ports::task_queue::ClaimRequest;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use std::any::Any;
use std::io::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

pub const START: Timestamp = Timestamp::from_micros(1_764_500_000_000_000);

/// Stands still until the test turns it.
#[derive(Debug)]
pub struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Counts the rows that a list left out.
#[derive(Debug, Default)]
pub struct SetAside(AtomicU64);

impl SetAside {
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl AdapterEvents for SetAside {
    fn tell(&self, event: &AdapterEvent) {
        assert_eq!(*event, AdapterEvent::RowSetAside);
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

pub struct World {
    pub store: Arc<dyn Store>,
    /// Where the database is; empty for memory.
    pub url: String,
    clock: Arc<TestClock>,
    /// Rows that could not be read.
    pub set_aside: Arc<SetAside>,
    database: Option<String>,
    /// What must live as long as the store: its folder.
    _ground: Box<dyn Any + Send + Sync>,
}

impl World {
    pub fn memory() -> Self {
        let clock = clock();
        let store = Arc::new(MemoryStore::new(Arc::clone(&clock) as Arc<dyn Clock>));
        let (url, set_aside) = (String::new(), Arc::default());
        Self { store, url, clock, set_aside, database: None, _ground: Box::new(()) }
    }

    pub async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("data/orders.db").display());
        let (store, clock, set_aside) = open(&url).await;
        Self { store, url, clock, set_aside, database: None, _ground: Box::new(folder) }
    }

    /// A database of its own on the server of `TEST_DATABASE_URL`; `None` and a loud line without one.
    pub async fn postgres() -> Option<Self> {
        let Ok(server) = std::env::var("TEST_DATABASE_URL") else {
            SAID.call_once(say_skipped);
            return None;
        };
        let name = format!("contract_{:032x}", fastrand::u128(..));
        on_server(&server, format!("CREATE DATABASE {name}")).await;
        let (base, _) = server.rsplit_once('/').unwrap();
        let url = format!("{base}/{name}");
        let (store, clock, set_aside) = open(&url).await;
        let database = Some(name);
        Some(Self { store, url, clock, set_aside, database, _ground: Box::new(()) })
    }

    /// Removes the database, once the world is gone.
    pub fn ending(&self) -> impl Future<Output = ()> + use<> {
        let name = self.database.clone();
        async move {
            if let (Some(name), Ok(server)) = (name, std::env::var("TEST_DATABASE_URL")) {
                on_server(&server, format!("DROP DATABASE {name} WITH (FORCE)")).await;
            }
        }
    }

    /// Another store on the same database, reached by this URL.
    pub async fn another(&self, url: &str, time_limit: Duration) -> Arc<dyn Store> {
        let clock = Some(Arc::clone(&self.clock) as Arc<dyn Clock>);
        let settings = Settings { max_connections: 3, time_limit, clock, ..Settings::default() };
        connect(url, settings).await.unwrap()
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn advance(&self, by: Duration) {
        let micros = i64::try_from(by.as_micros()).unwrap();
        self.clock.0.fetch_add(micros, Ordering::SeqCst);
    }

    /// Another order of this customer, stored.
    pub async fn placed(&self, customer: &str) -> Order {
        self.store.place(order(customer)).await.unwrap()
    }

    pub async fn aggregate(&self, id: OrderId) -> OrderAggregate {
        self.store.aggregate(id, &Scope::Anyone).await.unwrap().unwrap()
    }

    /// Runs a decision that keeps nothing else.
    pub async fn change(
        &self,
        id: OrderId,
        mut change: impl FnMut(&mut OrderAggregate, &TxContext) + Send + 'static,
    ) -> Result<Option<()>, StorageError> {
        let decision = move |aggregate: &mut OrderAggregate, context: &TxContext| {
            change(aggregate, context);
            ((), SideWrites::default())
        };
        decide(&*self.store, id, LoadOptions::Aggregate, decision).await
    }

    /// An order with one queued task, due at once.
    pub async fn queued(&self, lane: Option<Provider>) -> Task {
        let order = self.placed("c-1").await;
        let mut task = task(order.id, TaskKind::RegisterPayment, self.now());
        task.lane = lane;
        let stored = task.clone();
        self.change(order.id, move |aggregate, _| aggregate.tasks.push(stored.clone()))
            .await
            .unwrap();
        task
    }
}

async fn open(url: &str) -> (Arc<dyn Store>, Arc<TestClock>, Arc<SetAside>) {
    let (clock, set_aside) = (clock(), Arc::<SetAside>::default());
    migrate(url).await.unwrap();
    let settings = Settings {
        max_connections: 5,
        clock: Some(Arc::clone(&clock) as _),
        events: Arc::clone(&set_aside) as _,
        ..Settings::default()
    };
    (connect(url, settings).await.unwrap(), clock, set_aside)
}

fn clock() -> Arc<TestClock> {
    Arc::new(TestClock(AtomicI64::new(START.micros())))
}

static SAID: Once = Once::new();

/// Past the test harness, which swallows what a passing test prints.
fn say_skipped() {
    let line = b"\n*** PostgreSQL SKIPPED: TEST_DATABASE_URL does not name a server ***\n\n";
    std::io::stderr().write_all(line).unwrap();
}

async fn on_server(server: &str, sql: String) {
    let mut connection = PgConnection::connect(server).await.unwrap();
    connection.execute(AssertSqlSafe(sql)).await.unwrap();
    connection.close().await.unwrap();
}

/// Everything is kept so long.
pub const fn kept_for(age: Duration) -> Retention {
    Retention { tasks: age, keys: age, callbacks: age, audit: age, buyers: age, orders: None }
}

/// A request to place with this key.
pub fn request(key: &str) -> IdempotentRequest {
    let key = IdempotencyKey { owner: "o".into(), route: "POST /v1/orders", key: key.into() };
    IdempotentRequest { key, fingerprint: std::array::from_fn(|at| u8::try_from(at * 8).unwrap()) }
}

pub fn order(customer: &str) -> Order {
    let items = vec![item("p-1", 2, 19_900), item("p-2", 1, 0)];
    // A time that is not the database's, to see which one is stored.
    let elsewhere = START - Duration::from_secs(3_600);
    let customer = CustomerId::parse(customer).unwrap();
    Order::place(OrderId::new(elsewhere, fastrand::u128(..)), customer, items, elsewhere).unwrap()
}

/// An order that a shop calls by a name of its own, and says more of.
pub fn named(owner: &str, external_id: &str) -> Order {
    let external_id = ExternalId::parse(external_id).unwrap();
    let details = OrderDetails {
        reference: Some(ShopReference { owner: owner.into(), external_id }),
        description: Some("Чай, «чёрный»".into()),
        metadata: [("utm".to_owned(), "a'b\"c".to_owned())].into(),
        buyer: Some(Buyer { email: Some("a@b.example".into()), phone: None }),
    };
    Order { details, ..order("c-1") }
}

fn item(product: &str, quantity: u32, kopecks: i64) -> Item {
    Item {
        product_id: ProductId::parse(product).unwrap(),
        name: format!("Товар «{product}»"),
        quantity,
        unit_price: Money::rub(kopecks).unwrap(),
        price_stale: kopecks == 0,
        vat: (kopecks == 0).then_some(Vat::Twenty),
    }
}

pub fn registration(order: OrderId, provider: Provider, sequence: u8) -> Registration {
    let number = ProviderNumber::new("T", order, sequence);
    let amount = Money::rub(39_800).unwrap();
    Registration::intent(provider, sequence, number, amount, START)
}

pub fn with_state(registration: Registration, state: RegistrationState) -> Registration {
    Registration { state, ..registration }
}

/// A plan to give back a part of what the first registration at Sber got.
pub fn refund(order: OrderId, task: TaskId) -> Refund {
    let (key, origin) = (RefundKey::of_task(order, task), RefundOrigin::Client);
    Refund::planned(key, (Provider::Sber, 1), Money::rub(100).unwrap(), origin, task, START)
}

pub fn task(order: OrderId, kind: TaskKind, run_at: Timestamp) -> Task {
    Task {
        id: TaskId::new(fastrand::u128(..)),
        order_id: order,
        kind,
        state: TaskState::Queued,
        reason: None,
        run_at,
        lane: None,
        attempts: 0,
        lost_leases: 0,
        deadline: run_at + Duration::from_secs(86_400),
        lease: None,
        result: None,
        error: None,
        dispute: None,
        settled: None,
        trace: None,
        return_url: None,
        form_lifetime: None,
        version: 1,
        created_at: run_at,
        updated_at: run_at,
    }
}

pub fn lease(owner: &str, until: Timestamp) -> Lease {
    let token = LeaseToken::new(fastrand::u128(..));
    Lease { owner: InstanceId::new(owner), token, until }
}

pub fn claim(owner: &str, lanes: &[(Option<Provider>, usize)]) -> ClaimRequest {
    ClaimRequest {
        owner: InstanceId::new(owner),
        token: LeaseToken::new(fastrand::u128(..)),
        lease: Duration::from_secs(60),
        lanes: lanes.to_vec(),
    }
}
