//! Wake-ups between instances, by LISTEN and NOTIFY.
//!
//! That a task is due is told inside the transaction that makes it so. That one is finished is told
//! after it, gathered for a moment: PostgreSQL commits notifying transactions one after another, which
//! would take the group commit away from every payment for the sake of a long poll elsewhere.

use super::Read;
use super::session::Sessions;
use super::sql;
use crate::adapters::outbound::storage::wakeups::{WakeupSet, Wakeups};
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{Arguments, SqlSafeStr};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const GATHER: Duration = Duration::from_millis(50);
const RECONNECT: Duration = Duration::from_secs(1);

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
            let said = Read { sql: sql::NOTIFY.into_sql_str(), arguments };
            // A wake-up that is lost is found by polling; the failure is logged where it happens.
            let _ = sessions.run(said, None).await;
        }
        tokio::time::sleep(GATHER).await;
    }
}

/// Listens, for ever, on a connection of its own.
pub async fn listen(channel: Arc<Channel>, options: PgConnectOptions) {
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    loop {
        if let Err(error) = hear_all(&channel, &pool).await {
            tracing::debug!(%error, "not listening to other instances for a moment");
        }
        tokio::time::sleep(RECONNECT).await;
    }
}

async fn hear_all(channel: &Channel, pool: &sqlx::PgPool) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen("order_tasks").await?;
    loop {
        match listener.try_recv().await? {
            Some(notice) => channel.hear(notice.payload()),
            // The connection was lost, and with it perhaps a notice.
            None => channel.wakeups.wake(WakeupSet { due: true, finished: true }),
        }
    }
}
