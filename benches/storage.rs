//! How fast orders are kept: `cargo bench --bench storage`.
//!
//! A word after `--` picks the rows that contain it.
//!
//! SQLite writes to a file in the target folder with `synchronous=FULL`. PostgreSQL takes part when
//! `BENCH_DATABASE_URL` names a server with a database that may be filled; leave its `fsync` on.

use order_service::adapters::outbound::storage::{Settings, Store, connect, migrate};
use order_service::core::domain::ids::{
    CustomerId, InstanceId, LeaseToken, OrderId, ProductId, TaskId,
};
use order_service::core::domain::money::Money;
use order_service::core::domain::order::{Item, Order, OrderStatus};
use order_service::core::domain::provider::{Provider, ProviderNumber};
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::registration::{Registration, RegistrationState};
use order_service::core::payment::task::{Lease, Task, TaskKind, TaskState};
use order_service::core::ports::order_repository::{
    LoadOptions, OrderRepository, Scope, SideWrites,
};
use order_service::core::ports::task_queue::ClaimRequest;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const SPAN: Duration = Duration::from_secs(4);
const WRITERS: [usize; 3] = [1, 64, 256];
const WAITING: u32 = 200_000;

#[tokio::main]
async fn main() {
    say("| store | what | callers | per second | p50 ms | p99 ms | CPU µs each |");
    say("|---|---|---:|---:|---:|---:|---:|");
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target folder");
    let file = format!("sqlite://{}", folder.path().join("orders.db").display());
    run("SQLite", &file).await;
    match std::env::var("BENCH_DATABASE_URL") {
        Ok(url) => run("PostgreSQL", &url).await,
        Err(_) => say("| PostgreSQL | skipped: BENCH_DATABASE_URL is not set | | | | | |"),
    }
}

async fn run(name: &str, url: &str) {
    migrate(url).await.expect("an empty database");
    let store = connect(url, Settings::default()).await.expect("the database");
    for callers in WRITERS {
        measure(name, "place an order", callers, &store, |store| async move {
            place(&*store).await;
        })
        .await;
    }
    for callers in WRITERS {
        measure(name, "place, register, finish", callers, &store, |store| async move {
            let id = place(&*store).await;
            store
                .change(id, LoadOptions::Aggregate, Box::new(move |d, _| begin(d)))
                .await
                .expect("begun");
            store
                .change(id, LoadOptions::Aggregate, Box::new(|d, _| finish(d)))
                .await
                .expect("finished");
        })
        .await;
    }
    let id = place(&*store).await;
    for callers in WRITERS {
        measure(name, "read an order", callers, &store, move |store| async move {
            store.aggregate(id, &Scope::Anyone).await.expect("a row").expect("an order");
        })
        .await;
    }
    claim_among_many(name, url, &store).await;
}

/// Runs `work` over and over in so many callers at once.
async fn measure<F>(
    name: &str,
    what: &str,
    callers: usize,
    store: &Arc<dyn Store>,
    work: impl Fn(Arc<dyn Store>) -> F + Copy + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    if !wanted(what) {
        return;
    }
    let (begun, spent) = (Instant::now(), cpu());
    let running: Vec<_> = (0..callers)
        .map(|_| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                let mut waits = Vec::new();
                while begun.elapsed() < SPAN {
                    let asked = Instant::now();
                    work(Arc::clone(&store)).await;
                    waits.push(asked.elapsed());
                }
                waits
            })
        })
        .collect();
    let mut waits = Vec::new();
    for caller in running {
        waits.extend(caller.await.expect("no caller panics"));
    }
    report(name, what, callers, begun.elapsed(), cpu() - spent, waits);
}

/// Whether it contains the word that the command line asks for, if it does.
fn wanted(what: &str) -> bool {
    std::env::args().skip(1).filter(|word| !word.starts_with('-')).all(|word| what.contains(&word))
}

/// `spent` is this process's processor time, which a busy machine does not stretch.
fn report(
    name: &str,
    what: &str,
    callers: usize,
    took: Duration,
    spent: Duration,
    mut waits: Vec<Duration>,
) {
    waits.sort_unstable();
    let count = f64::from(u32::try_from(waits.len()).unwrap_or(u32::MAX));
    let at = |percent: usize| waits[(waits.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    let (rate, middle, late) = (count / took.as_secs_f64(), at(50), at(99));
    let each = spent.as_secs_f64() * 1e6 / count;
    say(&format!(
        "| {name} | {what} | {callers} | {rate:.0} | {middle:.2} | {late:.2} | {each:.0} |"
    ));
}

fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").expect("somebody reads the table");
}

async fn place(store: &dyn OrderRepository) -> OrderId {
    let customer = CustomerId::parse(&format!("c-{}", fastrand::u32(..100_000))).expect("an id");
    let item = |product: &str, minor| Item {
        product_id: ProductId::parse(product).expect("an id"),
        name: "A product with a name".to_owned(),
        quantity: 2,
        unit_price: Money::rub(minor).expect("a price"),
        price_stale: false,
        vat: None,
    };
    let items = vec![item("p-1", 19_900), item("p-2", 9_900)];
    let now =
        Timestamp::default() + std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970");
    let order = Order::place(OrderId::new(now, fastrand::u128(..)), customer, items, now);
    store.place(order.expect("a valid order")).await.expect("placed").id
}

/// What confirming commits before the call: a running task and the intent.
fn begin(aggregate: &mut OrderAggregate) -> SideWrites {
    let (id, now) = (aggregate.order.id, aggregate.order.created_at);
    let number = ProviderNumber::new("B", id, 1);
    let amount = aggregate.order.total;
    aggregate.order.status = OrderStatus::Registering;
    aggregate.registrations.push(Registration::intent(Provider::Sber, 1, number, amount, now));
    let lease = Lease {
        owner: InstanceId::new("bench"),
        token: LeaseToken::new(fastrand::u128(..)),
        until: now + Duration::from_secs(60),
    };
    aggregate.tasks.push(Task { lease: Some(lease), ..task(id, now) });
    SideWrites::default()
}

/// And what it commits after the answer.
fn finish(aggregate: &mut OrderAggregate) -> SideWrites {
    aggregate.order.status = OrderStatus::AwaitingPayment;
    aggregate.registrations[0].state = RegistrationState::Live;
    aggregate.registrations[0].form_url = Some("https://pay.example/form?id=1".to_owned());
    aggregate.tasks[0].state = TaskState::Succeeded;
    aggregate.tasks[0].lease = None;
    aggregate.tasks[0].result = Some((Provider::Sber, 1));
    SideWrites::default()
}

fn task(order_id: OrderId, now: Timestamp) -> Task {
    Task {
        id: TaskId::new(fastrand::u128(..)),
        order_id,
        kind: TaskKind::RegisterPayment,
        state: TaskState::Running,
        reason: None,
        run_at: now,
        lane: Some(Provider::Sber),
        attempts: 0,
        lost_leases: 0,
        deadline: now + Duration::from_secs(86_400),
        lease: None,
        result: None,
        error: None,
        dispute: None,
        settled: None,
        trace: None,
        return_url: None,
        form_lifetime: None,
        version: 1,
        created_at: now,
        updated_at: now,
    }
}

/// Claims batches of ten while 200,000 tasks wait, all due.
async fn claim_among_many(name: &str, url: &str, store: &Arc<dyn Store>) {
    let what = "claim 10 of 200,000 waiting";
    if !wanted(what) {
        return;
    }
    seed(url).await;
    let mut waits = Vec::new();
    let (begun, spent) = (Instant::now(), cpu());
    while begun.elapsed() < SPAN {
        let request = ClaimRequest {
            owner: InstanceId::new("bench"),
            token: LeaseToken::new(fastrand::u128(..)),
            lease: Duration::from_secs(3_600),
            lanes: vec![(None, 10), (Some(Provider::Sber), 10)],
        };
        let asked = Instant::now();
        let claimed = store.claim(&request).await.expect("a claim");
        waits.push(asked.elapsed());
        assert_eq!(claimed.len(), 10, "there is enough to claim");
    }
    report(name, what, 1, begun.elapsed(), cpu() - spent, waits);
}

/// Gives the first orders a waiting task each, in the database's own words, and more orders where
/// there are not enough.
async fn seed(url: &str) {
    let columns = "INSERT INTO tasks (id, order_id, kind, state, run_at, lane, attempts, \
        lost_leases, deadline, created_at, updated_at, version) \
        SELECT row_number() OVER (), id, 'sync_payment', 'queued', created_at, 'any', 0, 0, \
        created_at + 86400000000, created_at, created_at, 1 FROM orders LIMIT";
    let fill = |id: &str, numbers: &str| {
        format!(
            "INSERT INTO orders (id, customer_id, status, items, total, currency, created_at, \
             updated_at, version) SELECT {id}, 'c-1', 'new', '[]', 1, 'RUB', 1, 1, 1 FROM {numbers}"
        )
    };
    let tasks = sqlx::AssertSqlSafe(format!("{columns} {WAITING}"));
    if url.starts_with("sqlite") {
        let mut file =
            <sqlx::SqliteConnection as sqlx::Connection>::connect(url).await.expect("it");
        let numbers = format!(
            "(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {WAITING}) \
             SELECT i FROM n)"
        );
        let orders = sqlx::AssertSqlSafe(fill("randomblob(16)", &numbers));
        sqlx::raw_sql(orders).execute(&mut file).await.expect("more orders");
        sqlx::raw_sql(tasks).execute(&mut file).await.expect("tasks");
    } else {
        let mut server = <sqlx::PgConnection as sqlx::Connection>::connect(url).await.expect("it");
        let orders = fill("gen_random_uuid()", &format!("generate_series(1, {WAITING})"));
        sqlx::raw_sql(sqlx::AssertSqlSafe(orders)).execute(&mut server).await.expect("orders");
        sqlx::raw_sql(tasks).execute(&mut server).await.expect("tasks");
        sqlx::raw_sql("ANALYZE tasks").execute(&mut server).await.expect("statistics");
    }
}
