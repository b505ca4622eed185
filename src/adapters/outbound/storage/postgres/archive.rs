//! Orders that are kept no longer (`ORDER_RETENTION`): their money goes into one row of the archive, everything
//! else of them goes.

use super::micros;
use super::session::{AttemptError, Tx, Work};
use crate::adapters::outbound::storage::settings::PRUNE_BATCH;
use std::time::Duration;

/// Only an order of which nothing is open: no task, no doubt, no payment that might still come, no money that is
/// not wanted. Whoever decides on an order at this moment holds its row, and it is passed over. `$1` a test's now,
/// `$2` age, `$3` how many.
const ARCHIVE: &str = concat!(
    "INSERT INTO archived_orders (id, archived_at, record) \
     SELECT o.id, clock.now, json_build_object('status', o.status, 'total', o.total, 'currency', o.currency, \
     'created_at', o.created_at, 'updated_at', o.updated_at, \
     'registrations', (SELECT coalesce(json_agg(json_build_object('provider', r.provider, 'number', r.number, \
         'amount', r.amount, 'refunded', r.refunded, 'state', r.state, 'paid_at', r.paid_at)), '[]') \
         FROM registrations r WHERE r.order_id = o.id), \
     'refunds', (SELECT coalesce(json_agg(json_build_object('provider', f.provider, 'amount', f.amount, \
         'state', f.state, 'origin', f.origin, 'created_at', f.created_at)), '[]') \
         FROM refunds f WHERE f.order_id = o.id)) \
     FROM orders o, (SELECT ",
    "coalesce($1::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)",
    " AS now OFFSET 0) AS clock WHERE o.updated_at < clock.now - $2 \
     AND o.status IN ('new', 'paid', 'payment_failed', 'cancelled', 'refunded') \
     AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.order_id = o.id AND (t.state IN ('queued', 'running') \
         OR t.state = 'review' AND t.settled_at IS NULL)) \
     AND NOT EXISTS (SELECT 1 FROM registrations r WHERE r.order_id = o.id \
         AND (r.state IN ('intent', 'unknown', 'live') OR r.state = 'surplus' AND r.refunded < r.amount \
         OR r.sync_requested_at IS NOT NULL OR r.contradiction IS NOT NULL OR r.strange_since IS NOT NULL)) \
     AND NOT EXISTS (SELECT 1 FROM refunds f WHERE f.order_id = o.id \
         AND f.state IN ('planned', 'sent', 'in_doubt', 'review')) \
     ORDER BY o.updated_at, o.id LIMIT $3 FOR UPDATE OF o SKIP LOCKED RETURNING id::text"
);

/// In the order in which the tables refer to each other. `$1` the archived orders. A task that somebody has made
/// meanwhile stays, and so does its order: the last statement is refused then, and with it the whole.
const REMOVE: [&str; 5] = [
    "DELETE FROM refunds WHERE order_id = ANY($1::uuid[])",
    "DELETE FROM registrations WHERE order_id = ANY($1::uuid[])",
    "DELETE FROM tasks WHERE order_id = ANY($1::uuid[]) AND state NOT IN ('queued', 'running')",
    "DELETE FROM events WHERE order_id = ANY($1::uuid[])",
    "DELETE FROM orders WHERE id = ANY($1::uuid[])",
];

/// Archives what has not changed for this long.
pub(super) struct Archive(pub(super) Duration);

#[async_trait::async_trait]
impl Work for Archive {
    type Output = u64;
    const TRANSACTION: bool = true;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, AttemptError> {
        let archive = sqlx::query_scalar::<_, String>(ARCHIVE)
            .bind(tx.now)
            .bind(micros(self.0))
            .bind(i64::from(PRUNE_BATCH));
        let archived = archive.fetch_all(&mut *tx.connection).await?;
        for remove in REMOVE {
            if archived.is_empty() {
                break;
            }
            sqlx::query(remove).bind(&archived).execute(&mut *tx.connection).await?;
        }
        Ok(u64::try_from(archived.len()).unwrap_or(u64::MAX))
    }
}
