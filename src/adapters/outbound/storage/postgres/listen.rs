//! Wake-ups between instances, by LISTEN and NOTIFY.
//!
//! That a task is due is told inside the transaction that makes it so. That one is finished is told
//! after it, gathered for a moment: PostgreSQL commits notifying transactions one after another, which
//! would take the group commit away from every payment for the sake of a long poll elsewhere.

use super::Read;
use super::server::{SERVER, Witness};
use super::session::Sessions;
use super::setup;
use crate::adapters::outbound::storage::wakeups::{WakeupSet, Wakeups};
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{Arguments, SqlSafeStr};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

const GATHER: Duration = Duration::from_millis(50);
const RECONNECT: Duration = Duration::from_secs(1);
/// How long a listener may hear nothing before it asks whether anybody is there.
const CHECK: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(3);

pub const NOTIFY: &str = "SELECT pg_notify('order_tasks', $1)::text";

/// What this instance says, and what it hears from the others.
#[derive(Debug)]
pub struct Channel {
    /// Random: one does not listen to oneself.
    id: String,
    finished: Notify,
    wakeups: Arc<Wakeups>,
}

impl Channel {
    pub fn new(wakeups: Arc<Wakeups>) -> Self {
        let id = format!("{:032x}", fastrand::u128(..));
        Self { id, finished: Notify::new(), wakeups }
    }

    /// The notice that a task is due.
    pub fn due(&self) -> String {
        format!("due {}", self.id)
    }

    /// After a commit: wakes this process at once and, in a moment, the others.
    pub fn wake(&self, set: WakeupSet) {
        self.wakeups.wake(set);
        if set.finished {
            self.finished.notify_one();
        }
    }

    fn hear(&self, notice: &str) {
        let Some((what, who)) = notice.split_once(' ') else { return };
        if who != self.id {
            self.wakeups.wake(WakeupSet { due: what == "due", finished: what == "finished" });
        }
    }
}

/// Says what was gathered, for ever.
pub async fn announce(channel: Arc<Channel>, sessions: Sessions) {
    loop {
        channel.finished.notified().await;
        let mut arguments = sqlx::postgres::PgArguments::default();
        if arguments.add(format!("finished {}", channel.id)).is_ok() {
            let said = Read { sql: NOTIFY.into_sql_str(), arguments };
            // A wake-up that is lost is found by polling; the failure is logged where it happens.
            let _ = sessions.run(said, None).await;
        }
        tokio::time::sleep(GATHER).await;
    }
}

/// Listens, for ever, on a connection of its own.
pub async fn listen(channel: Arc<Channel>, options: PgConnectOptions, witness: Arc<Witness>) {
    loop {
        let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(PATIENCE);
        let pool = pool.connect_lazy_with(options.clone());
        let Err(error) = hear_all(&channel, &pool, &witness).await;
        tracing::debug!(%error, "not listening to other instances for a moment");
        // What was said meanwhile is lost.
        channel.wakeups.wake(WakeupSet { due: true, finished: true });
        // Without good-byes: the other end may hear nothing any more.
        drop(pool);
        tokio::time::sleep(RECONNECT).await;
    }
}

/// Until the connection is lost, falls silent, or leads to a server that is not the right one.
async fn hear_all(
    channel: &Channel,
    pool: &sqlx::PgPool,
    witness: &Witness,
) -> Result<Infallible, sqlx::Error> {
    let mut listener = in_time(PgListener::connect_with(pool)).await?;
    check(&mut listener, witness).await?;
    in_time(listener.listen("order_tasks")).await?;
    loop {
        match timeout(CHECK, listener.try_recv()).await {
            Ok(Ok(Some(notice))) => channel.hear(notice.payload()),
            Ok(Ok(None)) => return Err(sqlx::Error::WorkerCrashed),
            Ok(Err(error)) => return Err(error),
            Err(_) => check(&mut listener, witness).await?,
        }
    }
}

/// A standby tells nobody anything, and a dead wire is silent.
async fn check(listener: &mut PgListener, witness: &Witness) -> Result<(), sqlx::Error> {
    let asked = sqlx::query_scalar::<_, String>(SERVER).fetch_one(&mut *listener);
    let state = setup::read_state(&in_time(asked).await?)?;
    let right = witness.look(&state).is_ours() && state.writable;
    right.then_some(()).ok_or_else(setup::wrong_server)
}

async fn in_time<T>(asked: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
    timeout(PATIENCE, asked).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
}
