//! Orders that are kept no longer (`ORDER_RETENTION`): their money goes into one row of the archive, everything
//! else of them goes.

use super::writer::{Tx, Work, WriteError};
use crate::adapters::outbound::storage::settings::PRUNE_BATCH;
use std::time::Duration;

/// Only an order of which nothing is open: no task, no doubt, no payment that might still come, no money that is
/// not wanted. `?1` the moment before which it changed last, `?2` how many, `?3` now.
const ARCHIVE: &str = "INSERT INTO archived_orders (id, archived_at, record) \
    SELECT o.id, ?3, json_object('status', o.status, 'total', o.total, 'currency', o.currency, \
    'created_at', o.created_at, 'updated_at', o.updated_at, \
    'registrations', (SELECT json_group_array(json_object('provider', r.provider, 'number', r.number, \
        'amount', r.amount, 'refunded', r.refunded, 'state', r.state, 'paid_at', r.paid_at)) \
        FROM registrations r WHERE r.order_id = o.id), \
    'refunds', (SELECT json_group_array(json_object('provider', f.provider, 'amount', f.amount, \
        'state', f.state, 'origin', f.origin, 'created_at', f.created_at)) \
        FROM refunds f WHERE f.order_id = o.id)) \
    FROM orders o WHERE o.updated_at < ?1 \
    AND o.status IN ('new', 'paid', 'payment_failed', 'cancelled', 'refunded') \
    AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.order_id = o.id AND (t.state IN ('queued', 'running') \
        OR t.state = 'review' AND t.settled_at IS NULL)) \
    AND NOT EXISTS (SELECT 1 FROM registrations r WHERE r.order_id = o.id \
        AND (r.state IN ('intent', 'unknown', 'live') OR r.state = 'surplus' AND r.refunded < r.amount \
        OR r.sync_requested_at IS NOT NULL OR r.contradiction IS NOT NULL OR r.strange_since IS NOT NULL)) \
    AND NOT EXISTS (SELECT 1 FROM refunds f WHERE f.order_id = o.id \
        AND f.state IN ('planned', 'sent', 'in_doubt', 'review')) \
    ORDER BY o.updated_at, o.id LIMIT ?2 RETURNING id";

/// In the order in which the tables refer to each other. `?1` the archived order.
const REMOVE: [&str; 5] = [
    "DELETE FROM refunds WHERE order_id = ?1",
    "DELETE FROM registrations WHERE order_id = ?1",
    "DELETE FROM tasks WHERE order_id = ?1",
    "DELETE FROM events WHERE order_id = ?1",
    "DELETE FROM orders WHERE id = ?1",
];

/// Archives what has not changed for this long.
pub(super) struct Archive(pub(super) Duration);

#[async_trait::async_trait]
impl Work for Archive {
    type Output = u64;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, WriteError> {
        let archive = sqlx::query_scalar::<_, Vec<u8>>(ARCHIVE)
            .bind((tx.now - self.0).micros())
            .bind(PRUNE_BATCH)
            .bind(tx.now.micros());
        let archived = archive.fetch_all(&mut *tx.connection).await?;
        for order in &archived {
            for remove in REMOVE {
                sqlx::query(remove).bind(order).execute(&mut *tx.connection).await?;
            }
        }
        Ok(u64::try_from(archived.len()).unwrap_or(u64::MAX))
    }
}
