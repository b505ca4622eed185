//! How PostgreSQL goes about what is asked most: by an index, once there is much of it. What is read is the plan
//! for any values, which a session comes to keep. `TEST_DATABASE_URL` names the server.

use super::sql;
use crate::adapters::outbound::storage::migrate;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};

/// Orders with a task that waits or one that is done, as many as make every wrong way a long one.
const OLD: &str = "INSERT INTO orders (id, customer_id, status, items, total, currency, created_at, updated_at, \
    version) SELECT gen_random_uuid(), 'c-' || i, 'new', '[]', 1, 'RUB', i, i, 1 FROM generate_series(1, 5000) AS i; \
    INSERT INTO tasks (id, order_id, kind, state, run_at, lane, attempts, lost_leases, deadline, \
    created_at, updated_at, version) SELECT row_number() OVER (), id, 'register_payment', \
    CASE WHEN created_at % 2 = 0 THEN 'queued' ELSE 'succeeded' END, created_at, 'any', 0, 0, 0, \
    created_at, created_at, 1 FROM orders; \
    INSERT INTO registrations (order_id, provider, sequence, number, amount, refunded, currency, state, \
    not_found, hinted, evidence, created_at, updated_at) \
    SELECT id, 'sber', 1, md5(id::text), 1, 0, 'RUB', 'surplus', 0, false, 'reported', created_at, created_at FROM orders; ANALYZE";

const HOT: [(&str, &str); 9] = [
    ("LOCK_ORDER", sql::LOCK_ORDER),
    ("LOCK_FREE_ORDERS", sql::LOCK_FREE_ORDERS),
    ("LOAD", sql::LOAD),
    ("LOAD_FREE", sql::LOAD_FREE),
    ("AGGREGATE", sql::AGGREGATE),
    ("TASK", sql::TASK),
    ("CLAIM", sql::CLAIM),
    ("FIND_ORDER", sql::FIND_ORDER),
    ("REFERRED", sql::REFERRED),
];

/// Whose rows are as many as there are orders. (While there are few, reading all of them is the right way; the
/// server makes its plans anew when it has counted more.)
const LARGE: [&str; 3] = ["orders", "registrations", "tasks"];

async fn plan(database: &mut PgConnection, statement: &str) -> Vec<String> {
    let parameters = (1..=12).filter(|number| statement.contains(&format!("${number}")));
    // As the driver binds them.
    let type_of = |number| match statement.split_once(&format!("${number}::")) {
        _ if statement == sql::CLAIM && number == 7 => "text[]",
        Some((_, rest)) if rest.starts_with("text[]") => "text[]",
        Some((_, rest)) if rest.starts_with("bigint[]") => "bigint[]",
        Some((_, rest)) if rest.starts_with("bigint") => "bigint",
        _ if statement == sql::TASK && number == 1 => "bigint",
        _ if statement == sql::CLAIM && number == 6 => "bigint",
        Some(_) | None => "text",
    };
    let types: Vec<_> = parameters.map(type_of).collect();
    let nulls = vec!["NULL"; types.len()].join(", ");
    let prepare = format!("PREPARE asked ({}) AS {statement}", types.join(", "));
    database.execute(AssertSqlSafe(prepare)).await.unwrap();
    let explain = AssertSqlSafe(format!("EXPLAIN EXECUTE asked ({nulls})"));
    let steps = sqlx::raw_sql(explain).fetch_all(&mut *database).await.unwrap();
    database.execute("DEALLOCATE asked").await.unwrap();
    steps.iter().map(|step| step.get(0)).collect()
}

fn long_ways(plan: &[String]) -> Vec<&String> {
    let is_long = |step: &&String| {
        let reads = |table: &&str| step.contains(&format!("Seq Scan on {table} "));
        LARGE.iter().any(reads)
    };
    plan.iter().filter(is_long).collect()
}

#[tokio::test]
async fn what_is_asked_most_never_reads_a_whole_table() {
    let Ok(server) = std::env::var("TEST_DATABASE_URL") else { return };
    let mut admin = PgConnection::connect(&server).await.unwrap();
    let name = format!("plans_{:016x}", fastrand::u64(..));
    admin.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
    let url = format!("{}/{name}", server.rsplit_once('/').unwrap().0);
    migrate(&url).await.unwrap();
    let mut database = PgConnection::connect(&url).await.unwrap();
    database.execute("SET plan_cache_mode = force_generic_plan").await.unwrap();
    let mut wrong = Vec::new();
    database.execute(OLD).await.unwrap();
    for (name, statement) in HOT {
        let plan = plan(&mut database, statement).await;
        if !long_ways(&plan).is_empty() {
            wrong.push(format!("{name}: {plan:#?}"));
        }
    }
    database.close().await.unwrap();
    let drop = format!("DROP DATABASE {name} WITH (FORCE)");
    admin.execute(AssertSqlSafe(drop)).await.unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
