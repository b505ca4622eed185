//! The outbox. Rows get their positions after their commits: see [`Positions`].

use super::session::{AttemptError, Tx, Work};
use super::{PgStore, bind};
use crate::adapters::outbound::storage::filters::only_customer;
use crate::adapters::outbound::storage::rows::read_events;
use crate::core::domain::ids::{EventId, OrderId};
use crate::core::ports::order_repository::Scope;
use crate::core::ports::outbox::{After, Outbox, StoredEvent};
use crate::core::ports::storage_error::StorageError;
use sqlx::SqlSafeStr;
use sqlx::postgres::PgArguments;

macro_rules! event_json {
    () => {
        "SELECT json_build_object('position', coalesce(e.position, 0), 'sequence', e.sequence, 'kind', e.kind, \
         'at', e.at, 'snapshot', e.snapshot, 'order', o)::text FROM events e JOIN orders o ON o.id = e.order_id "
    };
}

/// `$1` order, `$2` after which sequence, `$3` how many.
const EVENTS_OF_ORDER: &str = concat!(
    event_json!(),
    "WHERE e.order_id = $1::uuid AND e.sequence > $2 ORDER BY e.sequence LIMIT $3"
);

/// `$1` after which position, `$2` the only customer whose orders they may be of, `$3` how many.
const EVENTS: &str = concat!(
    event_json!(),
    "WHERE e.position > $1 AND ($2::text IS NULL OR o.customer_id = $2) ORDER BY e.position LIMIT $3"
);

/// `$1` order, `$2` sequence, `$3` the only customer whose order it may be.
const POSITION_OF_EVENT: &str = "SELECT e.position::text FROM events e JOIN orders o ON o.id = e.order_id \
    WHERE e.order_id = $1::uuid AND e.sequence = $2 AND ($3::text IS NULL OR o.customer_id = $3)";

const ANY_WITHOUT: &str = "SELECT 'yes' FROM events WHERE position IS NULL LIMIT 1";

const LOCK_POSITIONS: &str = "SELECT last FROM event_positions WHERE id = 1 FOR UPDATE";

/// `$1` the last position given, `$2` how many at a time. By id: of one order's events the later one has the greater, since
/// the order's lock was held when it was drawn.
const GIVE_POSITIONS: &str = "WITH waiting AS (SELECT id, row_number() OVER (ORDER BY id) AS nth FROM \
    (SELECT id FROM events WHERE position IS NULL ORDER BY id LIMIT $2) AS first), \
    given AS (UPDATE events e SET position = $1 + w.nth FROM waiting w WHERE e.id = w.id RETURNING 1) \
    UPDATE event_positions SET last = $1 + (SELECT count(*) FROM given) WHERE id = 1";

/// At a time; whoever comes next gives the rest.
const AT_A_TIME: i64 = 5_000;

#[async_trait::async_trait]
impl Outbox for PgStore {
    async fn events_of(
        &self,
        order: OrderId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StorageError> {
        let mut arguments = PgArguments::default();
        bind(&mut arguments, order.to_string());
        bind(&mut arguments, i64::try_from(after).unwrap_or(i64::MAX));
        bind(&mut arguments, i64::try_from(limit).unwrap_or(i64::MAX));
        let rows = self.rows(EVENTS_OF_ORDER.into_sql_str(), arguments).await?;
        Ok(read_events(&rows, &*self.events))
    }

    async fn events(
        &self,
        after: After,
        limit: usize,
        scope: &Scope,
    ) -> Result<Option<Vec<StoredEvent>>, StorageError> {
        self.give_positions().await?;
        let position = match after {
            After::Position(position) => i64::try_from(position).ok(),
            After::Event(EventId { order, sequence }) => {
                self.position_of(order, sequence, scope).await?
            }
        };
        let Some(position) = position else { return Ok(None) };
        let mut arguments = PgArguments::default();
        bind(&mut arguments, position);
        bind(&mut arguments, only_customer(scope));
        bind(&mut arguments, i64::try_from(limit).unwrap_or(i64::MAX));
        let rows = self.rows(EVENTS.into_sql_str(), arguments).await?;
        Ok(Some(read_events(&rows, &*self.events)))
    }
}

impl PgStore {
    /// To what was committed and has none yet.
    pub(super) async fn give_positions(&self) -> Result<(), StorageError> {
        if !self.rows(ANY_WITHOUT.into_sql_str(), PgArguments::default()).await?.is_empty() {
            self.run(Positions).await?;
        }
        Ok(())
    }

    async fn position_of(
        &self,
        order: OrderId,
        sequence: u64,
        scope: &Scope,
    ) -> Result<Option<i64>, StorageError> {
        let mut arguments = PgArguments::default();
        bind(&mut arguments, order.to_string());
        bind(&mut arguments, i64::try_from(sequence).unwrap_or(i64::MAX));
        bind(&mut arguments, only_customer(scope));
        let rows = self.rows(POSITION_OF_EVENT.into_sql_str(), arguments).await?;
        Ok(rows.first().and_then(|position| position.parse().ok()))
    }
}

/// Gives positions to what has been committed without: one at a time, under the lock of one row, so that they are
/// committed in their order. A transaction that is still open is not seen, and gets a later one.
struct Positions;

#[async_trait::async_trait]
impl Work for Positions {
    type Output = ();
    const TRANSACTION: bool = true;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), AttemptError> {
        let last: i64 = sqlx::query_scalar(LOCK_POSITIONS).fetch_one(&mut *tx.connection).await?;
        sqlx::query(GIVE_POSITIONS).bind(last).bind(AT_A_TIME).execute(&mut *tx.connection).await?;
        Ok(())
    }
}
