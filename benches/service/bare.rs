//! The bare stack: axum, reqwest and the same durable commits, with constant answers. It checks nothing,
//! decides nothing and counts nothing; what it costs is what the service's own work is measured against.

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderName, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Executor, PgPool, SqliteConnection};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

const JSON: [(HeaderName, &str); 1] = [(CONTENT_TYPE, "application/json")];
const PRODUCT: &str = r#"{"id":"p-1","name":"Tea","price":{"amount":19900,"currency":"RUB"},"stale":false,"as_of":"2026-01-01T00:00:00Z"}"#;
const ORDER: &str = r#","customer_id":"c-1","status":"new","items":[{"product_id":"p-1","name":"Tea","quantity":1,"price":{"amount":19900,"currency":"RUB"}}],"total":{"amount":19900,"currency":"RUB"}}"#;
const FORM: &str = r#"{"status":"awaiting_payment","form_url":"https://bank.example/pay/1"}"#;
const REFUSAL: &str = r#"{"type":"/problems/payment-system-unavailable","title":"Payment system unavailable","status":503,"code":"payment_system_unavailable","detail":"Payment is not possible at this moment."}"#;

/// As much as an order or an intent takes.
const ROW: &str = r#"{"items":[{"product_id":"p-1","name":"Tea","quantity":1,"unit_price":19900,"price_stale":false}],"total":19900}"#;

#[derive(Debug)]
struct Bare {
    partner: String,
    client: reqwest::Client,
    store: Store,
    last: AtomicU64,
}

#[derive(Debug)]
enum Store {
    Sqlite(mpsc::Sender<Commit>),
    Postgres(PgPool),
}

#[derive(Debug, Clone, Copy)]
enum Change {
    Order,
    Intent,
    Result,
}

#[derive(Debug)]
struct Commit {
    change: Change,
    id: i64,
    done: oneshot::Sender<()>,
}

pub async fn serve(address: &str, partner: &str, database: &str) -> Result<()> {
    let store = Store::connect(database).await?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let bare = Bare { partner: partner.to_owned(), client, store, last: AtomicU64::new(0) };
    let router = Router::new()
        .route("/v1/products/{id}", get(product))
        .route("/constant", get(async || (JSON, PRODUCT)))
        .route("/refusal", get(async || (StatusCode::SERVICE_UNAVAILABLE, JSON, REFUSAL)))
        .route("/v1/orders", post(place))
        .route("/v1/orders/{id}/confirm", post(confirm))
        .with_state(Arc::new(bare));
    axum::serve(TcpListener::bind(address).await?, router).await?;
    Ok(())
}

async fn product(
    State(bare): State<Arc<Bare>>,
    axum::extract::Path(id): axum::extract::Path<String>,
) -> impl IntoResponse {
    let url = format!("http://{}/products/{id}", bare.partner);
    let answer = async { bare.client.get(url).send().await?.bytes().await };
    let answer = answer.await;
    answer.map(|body| (JSON, body)).map_err(|_| StatusCode::BAD_GATEWAY)
}

async fn place(State(bare): State<Arc<Bare>>, _: axum::body::Bytes) -> impl IntoResponse {
    let id = bare.last.fetch_add(1, Ordering::Relaxed) + 1;
    bare.store.commit(Change::Order, id).await;
    let body = format!(r#"{{"id":"{id}"{ORDER}"#);
    (StatusCode::CREATED, [(LOCATION, format!("/v1/orders/{id}"))], JSON, body)
}

/// Two commits round a call, as no less will do: the intent, and what became of it.
async fn confirm(
    State(bare): State<Arc<Bare>>,
    axum::extract::Path(id): axum::extract::Path<u64>,
) -> impl IntoResponse {
    bare.store.commit(Change::Intent, id).await;
    let url = format!("http://{}/rest/register.do", bare.partner);
    let body = format!("orderNumber={id}&amount=19900&userName=u&password=p");
    let answer = async { bare.client.post(url).body(body).send().await?.bytes().await };
    let answered = answer.await.is_ok();
    bare.store.commit(Change::Result, id).await;
    if answered { (StatusCode::OK, JSON, FORM) } else { (StatusCode::BAD_GATEWAY, JSON, "{}") }
}

impl Store {
    async fn connect(database: &str) -> Result<Self> {
        const ORDERS: &str = "CREATE TABLE bare_orders (id BIGINT PRIMARY KEY, body TEXT NOT NULL)";
        const INTENTS: &str =
            "CREATE TABLE bare_intents (id BIGINT PRIMARY KEY, body TEXT NOT NULL, result TEXT)";
        if database.starts_with("sqlite:") {
            let mut connection = SqliteConnectOptions::from_str(database)?
                .create_if_missing(true)
                .journal_mode(SqliteJournalMode::Wal)
                .synchronous(SqliteSynchronous::Full)
                .connect()
                .await?;
            connection.execute(ORDERS).await?;
            connection.execute(INTENTS).await?;
            let (queue, commits) = mpsc::channel(1024);
            let runtime = tokio::runtime::Handle::current();
            std::thread::spawn(move || runtime.block_on(write(connection, commits)));
            Ok(Self::Sqlite(queue))
        } else {
            let pool = PgPool::connect(database).await?;
            pool.execute(ORDERS).await?;
            pool.execute(INTENTS).await?;
            Ok(Self::Postgres(pool))
        }
    }

    /// Returns when it is durable. A database that fails ends the process: its figures would be none.
    async fn commit(&self, change: Change, id: u64) {
        let id = i64::try_from(id).expect("fewer orders than that");
        match self {
            Self::Sqlite(queue) => {
                let (done, committed) = oneshot::channel();
                queue.send(Commit { change, id, done }).await.expect("the writer lives");
                committed.await.expect("a commit");
            }
            Self::Postgres(pool) => {
                change.query().bind(id).bind(ROW).execute(pool).await.expect("a commit");
            }
        }
    }
}

/// All that wait, in one transaction.
async fn write(mut connection: SqliteConnection, mut queue: mpsc::Receiver<Commit>) -> Result<()> {
    let mut batch = Vec::new();
    while queue.recv_many(&mut batch, 256).await > 0 {
        connection.execute("BEGIN IMMEDIATE").await?;
        for Commit { change, id, .. } in &batch {
            sqlx::query(change.sql()).bind(id).bind(ROW).execute(&mut connection).await?;
        }
        connection.execute("COMMIT").await.context("COMMIT")?;
        for commit in batch.drain(..) {
            // Whoever asked may be gone.
            let _ = commit.done.send(());
        }
    }
    Ok(())
}

impl Change {
    const fn sql(self) -> &'static str {
        match self {
            Self::Order => "INSERT INTO bare_orders (id, body) VALUES ($1, $2)",
            Self::Intent => "INSERT INTO bare_intents (id, body) VALUES ($1, $2)",
            Self::Result => "UPDATE bare_intents SET result = $2 WHERE id = $1",
        }
    }

    fn query(self) -> sqlx::query::Query<'static, sqlx::Postgres, sqlx::postgres::PgArguments> {
        sqlx::query(self.sql())
    }
}
