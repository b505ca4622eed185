//! How connections are opened and sessions are set up: with limits that the server keeps, by itself or
//! behind a pooler that hands out another session for each transaction.

use super::server::{SERVER, ServerState, Witness};
use crate::adapters::outbound::storage::settings::{ConnectError, Settings};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, PgConnection, PgPool, Row};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a connection is used: after a failover, or a change of what a name leads to, all are new
/// within minutes. Between this and half as much again, so that not all instances connect at once.
const LIFETIME: Duration = Duration::from_secs(5 * 60);

/// What is no server's default: a client that is gone is noticed, also while its statement runs, and a
/// commit that was answered lasts. Those that a version of the server does not know are left out.
const SESSION: [(&str, &str); 6] = [
    ("tcp_keepalives_idle", "30"),
    ("tcp_keepalives_interval", "10"),
    ("tcp_keepalives_count", "3"),
    ("tcp_user_timeout", "60000"),
    ("client_connection_check_interval", "5000"),
    ("synchronous_commit", "on"),
];

/// Limits of this session, as far as this version of the server knows them. A dead client is noticed,
/// and a commit that was answered is on the disk and, where there is one, on the synchronous standby.
/// `$1` names, `$2` values.
const LIMIT_SESSION: &str = "SELECT set_config(s.name, w.value, false) \
    FROM unnest($1::text[], $2::text[]) AS w (name, value) JOIN pg_settings s USING (name) \
    WHERE s.name <> 'synchronous_commit' OR s.setting IN ('off', 'local', 'remote_write')";

/// What this transaction commits lasts; a stronger setting of the server stays.
const LAST: &str = "SELECT set_config('synchronous_commit', 'on', true) \
    WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')";

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

pub fn options(url: &str) -> Result<PgConnectOptions, sqlx::Error> {
    let options = PgConnectOptions::from_str(url)?;
    Ok(options.application_name("order-service").disable_statement_logging())
}

/// The pool, with one connection as proof that the server is there.
pub async fn pool(
    url: &str,
    settings: &Settings,
    witness: &Arc<Witness>,
) -> Result<PgPool, ConnectError> {
    let direct = settings.prepared;
    let options = if direct { limited(url, settings.time_limit)? } else { pooled(url)? };
    let (connected, acquired) = (Arc::clone(witness), Arc::clone(witness));
    let pool = PgPoolOptions::new()
        .max_connections(settings.max_connections)
        .acquire_timeout(settings.time_limit)
        .max_lifetime(LIFETIME.mul_f64(1.0 + fastrand::f64() / 2.0))
        // Work that meets a dead connection is begun again on another: no ping each time.
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            let witness = Arc::clone(&connected);
            Box::pin(async move { set_up(connection, direct, &witness).await })
        })
        .before_acquire(move |_, connection| {
            let opened = Instant::now().checked_sub(connection.age);
            let trusted = !opened.is_some_and(|opened| acquired.distrusts(opened));
            Box::pin(std::future::ready(Ok(trusted)))
        });
    Ok(pool.connect_with(options).await?)
}

/// Where to listen: nowhere behind a pooler whose server's own address is not known; then polling alone
/// finds what other instances have done.
pub fn listening(url: &str, settings: &Settings) -> Result<Option<PgConnectOptions>, ConnectError> {
    let url = settings.direct_url.as_deref().or(settings.prepared.then_some(url));
    Ok(url.map(options).transpose()?)
}

/// How a transaction begins. Behind a pooler everything that a session would keep is said again, in the
/// same message.
pub fn begin(settings: &Settings) -> Arc<str> {
    if settings.prepared {
        return BEGIN.into();
    }
    let limits = limits(settings.time_limit);
    let limits = limits.iter().map(|(name, value)| format!("; SET LOCAL {name} = '{value}'"));
    format!("DEALLOCATE ALL; {}{}; {}", BEGIN, limits.collect::<String>(), LAST).into()
}

fn limits(time_limit: Duration) -> [(&'static str, String); 3] {
    ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
        .map(|name| (name, format!("{}ms", time_limit.as_millis())))
}

fn limited(url: &str, time_limit: Duration) -> Result<PgConnectOptions, sqlx::Error> {
    Ok(options(url)?.options(limits(time_limit)))
}

/// A pooler refuses what it cannot give to every session alike.
fn pooled(url: &str) -> Result<PgConnectOptions, sqlx::Error> {
    Ok(options(url)?.extra_float_digits(None).statement_cache_capacity(0))
}

async fn set_up(
    connection: &mut PgConnection,
    direct: bool,
    witness: &Witness,
) -> Result<(), sqlx::Error> {
    if direct {
        let (names, values): (Vec<_>, Vec<_>) = SESSION.into_iter().unzip();
        sqlx::query(LIMIT_SESSION)
            .bind(names)
            .bind(values)
            .persistent(false)
            .fetch_all(&mut *connection)
            .await?;
    }
    let state: String = sqlx::raw_sql(SERVER).fetch_one(&mut *connection).await?.try_get(0)?;
    let right = witness.look(&read_state(&state)?).is_ours();
    right.then_some(()).ok_or_else(wrong_server)
}

pub fn read_state(json: &str) -> Result<ServerState, sqlx::Error> {
    serde_json::from_str(json).map_err(|error| sqlx::Error::Decode(error.into()))
}

pub fn wrong_server() -> sqlx::Error {
    sqlx::Error::Protocol("a server that is not the one to write to".into())
}
