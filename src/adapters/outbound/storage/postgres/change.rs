//! A decision on an aggregate: lock, load, decide, write what differs, commit.

use super::keys::keep_outcome;
use super::listen::Channel;
use super::orders::keep_callback;
use super::session::{AttemptError, Tx, Work};
use super::sql;
use crate::adapters::outbound::storage::decision::{self, KEY_TAKEN};
use crate::adapters::outbound::storage::diff::ChangedRows;
use crate::adapters::outbound::storage::invariants::VERSION;
use crate::adapters::outbound::storage::rows::{
    AggregateRow, RefundRow, RegistrationRow, TaskRow, clean, new_events, read, write,
};
use crate::adapters::outbound::storage::waiting::waiting_of;
use crate::adapters::outbound::storage::wakeups::WakeupSet;
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::order::Order;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::ports::order_repository::{Decide, LoadOptions, SideWrites, TxContext};
use crate::core::ports::storage_error::StorageError;
use std::sync::Arc;
use uuid::Uuid;

/// Decisions of all instances that may be about to join the queue at one moment: more than there are
/// connections.
const MARGIN: u64 = 256;

/// What a decision changed, in one statement: `$1` order, `$2` its loaded version, `$3` status,
/// `$4` updated at, `$5` version, `$6` the mark of this change, `$7` registrations, `$8` refunds,
/// `$9` tasks, `$10` what to notify others of, if anything, `$11` when a cancel was
/// accepted, `$12` events. Answers how many rows were written.
const SAVE: &str = "WITH o AS (UPDATE orders SET status = $3, updated_at = $4, version = $5, \
    last_change = $6::uuid, cancel_requested_at = $11 WHERE id = $1::uuid AND version = $2 RETURNING 1), \
    r AS (INSERT INTO registrations (order_id, provider, sequence, number, amount, refunded, currency, \
    state, ending, decline_code, external_id, form_url, return_url, sent_at, not_found, cancel_sent_at, hinted, \
    given_up_at, sync_requested_at, registered_at, paid_at, paid_late, ended_at, looks, \
    strange_since, expires_at, evidence, contradiction, created_at, updated_at) \
    SELECT order_id, provider, sequence, number, amount, refunded, currency, \
    state, ending, decline_code, external_id, form_url, return_url, sent_at, not_found, cancel_sent_at, hinted, \
    given_up_at, sync_requested_at, registered_at, paid_at, paid_late, ended_at, looks, \
    strange_since, expires_at, evidence, contradiction, created_at, updated_at \
    FROM json_populate_recordset(NULL::registrations, $7::json) \
    ON CONFLICT (order_id, provider, sequence) DO UPDATE SET refunded = excluded.refunded, \
    state = excluded.state, ending = excluded.ending, decline_code = excluded.decline_code, \
    external_id = excluded.external_id, form_url = excluded.form_url, \
    return_url = excluded.return_url, sent_at = excluded.sent_at, not_found = excluded.not_found, \
    cancel_sent_at = excluded.cancel_sent_at, hinted = excluded.hinted, \
    given_up_at = excluded.given_up_at, sync_requested_at = excluded.sync_requested_at, \
    registered_at = excluded.registered_at, paid_at = excluded.paid_at, \
    paid_late = excluded.paid_late, ended_at = excluded.ended_at, looks = excluded.looks, \
    strange_since = excluded.strange_since, expires_at = excluded.expires_at, \
    evidence = excluded.evidence, contradiction = excluded.contradiction, \
    updated_at = excluded.updated_at RETURNING 1), \
    f AS (INSERT INTO refunds (order_id, key, provider, sequence, amount, currency, state, origin, \
    task_id, told_before, sent_at, sends, acknowledged, unchanged, created_at, updated_at) \
    SELECT order_id, key, provider, sequence, amount, currency, state, origin, task_id, \
    told_before, sent_at, sends, acknowledged, unchanged, created_at, updated_at \
    FROM json_populate_recordset(NULL::refunds, $8::json) \
    ON CONFLICT (order_id, key) DO UPDATE SET state = excluded.state, task_id = excluded.task_id, \
    told_before = excluded.told_before, sent_at = excluded.sent_at, sends = excluded.sends, \
    acknowledged = excluded.acknowledged, unchanged = excluded.unchanged, \
    updated_at = excluded.updated_at RETURNING 1), \
    t AS (INSERT INTO tasks (id, order_id, kind, state, reason, run_at, lane, attempts, \
    lost_leases, deadline, lease_owner, lease_token, lease_until, result_provider, \
    result_sequence, error, dispute, trace, return_url, form_lifetime, created_at, updated_at, version) \
    SELECT id, order_id, kind, state, reason, run_at, lane, attempts, lost_leases, deadline, \
    lease_owner, lease_token, lease_until, result_provider, result_sequence, error, \
    dispute, trace, return_url, form_lifetime, created_at, updated_at, version \
    FROM json_populate_recordset(NULL::tasks, $9::json) \
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, reason = excluded.reason, \
    run_at = excluded.run_at, lane = excluded.lane, attempts = excluded.attempts, \
    lost_leases = excluded.lost_leases, deadline = excluded.deadline, \
    lease_owner = excluded.lease_owner, lease_token = excluded.lease_token, \
    lease_until = excluded.lease_until, result_provider = excluded.result_provider, \
    result_sequence = excluded.result_sequence, error = excluded.error, \
    dispute = excluded.dispute, trace = excluded.trace, return_url = excluded.return_url, \
    form_lifetime = excluded.form_lifetime, \
    updated_at = excluded.updated_at, version = excluded.version \
    WHERE tasks.version = excluded.version - 1 RETURNING 1), \
    e AS (INSERT INTO events (order_id, sequence, kind, at, snapshot) SELECT $1::uuid, \
    (told ->> 'nth')::bigint + (SELECT coalesce(max(sequence), 0) FROM events WHERE order_id = $1::uuid), \
    told ->> 'kind', (told ->> 'at')::bigint, told -> 'snapshot' \
    FROM json_array_elements($12::json) AS told RETURNING 1) \
    SELECT (SELECT count(*) FROM o) + (SELECT count(*) FROM r) + (SELECT count(*) FROM f) \
    + (SELECT count(*) FROM t) + (SELECT count(*) FROM e), \
    CASE WHEN $10::text IS NOT NULL THEN pg_notify('order_tasks', $10)::text END";

pub struct OrderChange {
    pub id: OrderId,
    pub options: LoadOptions,
    pub decide: Decide,
    pub channel: Arc<Channel>,
    /// The mark that the last attempt left on the order, and whom it would have woken.
    pub attempted: Option<(Uuid, WakeupSet)>,
}

#[async_trait::async_trait]
impl Work for OrderChange {
    type Output = Option<WakeupSet>;
    const TRANSACTION: bool = true;

    /// `None` when there is no such order. After a lost COMMIT the order's mark tells whether that
    /// attempt is there: the lock waits until the server has made up its mind about it.
    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Option<WakeupSet>, AttemptError> {
        let locked: Option<(Option<String>,)> = sqlx::query_as(sql::LOCK_ORDER)
            .bind(self.id.to_string())
            .fetch_optional(&mut *tx.connection)
            .await?;
        let Some((mark,)) = locked else { return Ok(None) };
        if let Some((attempted, wakeups)) = self.attempted
            && mark == Some(attempted.to_string())
        {
            return Ok(Some(wakeups));
        }
        let (json, now): (String, i64) = sqlx::query_as(sql::LOAD)
            .bind(self.id.to_string())
            .bind(tx.now)
            .fetch_one(&mut *tx.connection)
            .await?;
        let loaded = read::<AggregateRow>(&json)?.restore()?;
        let now = Timestamp::from_micros(now);
        let context = TxContext { now, waiting: waiting(tx, &loaded, self.options).await? };
        let (changes, writes) = decision::run(&mut self.decide, &loaded, &context)?;
        if changes.is_none() && writes == SideWrites::default() {
            return Ok(Some(WakeupSet::default()));
        }
        let wakeups = changes.as_ref().map(|changes| changes.wakeups(now)).unwrap_or_default();
        let mark = Uuid::from_u128(fastrand::u128(..));
        self.attempted = Some((mark, wakeups));
        let notice = wakeups.due.then(|| self.channel.due());
        save(tx, &loaded.order, changes, mark, notice).await?;
        keep_side_writes(tx, self.id, writes).await?;
        Ok(Some(wakeups))
    }
}

/// Without changes only the mark is left, for what else is kept.
async fn save(
    tx: &mut Tx<'_>,
    loaded: &Order,
    changes: Option<ChangedRows>,
    mark: Uuid,
    notice: Option<String>,
) -> Result<(), AttemptError> {
    let unchanged = || ChangedRows {
        order: loaded.clone(),
        registrations: vec![],
        refunds: vec![],
        tasks: vec![],
        events: None,
    };
    let ChangedRows { order, registrations, refunds, tasks, events } =
        changes.unwrap_or_else(unchanged);
    let registrations: Vec<_> =
        registrations.iter().map(|made| RegistrationRow::of(order.id, made)).collect();
    let refunds: Vec<_> = refunds.iter().map(|made| RefundRow::of(order.id, made)).collect();
    let tasks: Vec<_> = tasks.iter().map(TaskRow::from).collect();
    let events: Vec<_> = events.iter().flat_map(new_events).collect();
    let (saved, _): (i64, Option<String>) = sqlx::query_as(SAVE)
        .bind(order.id.to_string())
        .bind(loaded.version)
        .bind(order.status.as_str())
        .bind(order.updated_at.micros())
        .bind(order.version)
        .bind(mark.to_string())
        .bind(write(&registrations))
        .bind(write(&refunds))
        .bind(write(&tasks))
        .bind(notice)
        .bind(order.cancel_requested_at.map(Timestamp::micros))
        .bind(write(&events))
        .fetch_one(&mut *tx.connection)
        .await?;
    if usize::try_from(saved)
        == Ok(1 + registrations.len() + refunds.len() + tasks.len() + events.len())
    {
        Ok(())
    } else {
        Err(StorageError::Corrupt(VERSION).into())
    }
}

/// The queue's length without the order's own tasks. What others are just adding is not in it, so within
/// [`MARGIN`] of the limit it is read under a lock: the limit holds as long as no more than that join at
/// the same moment, on all instances.
async fn waiting(
    tx: &mut Tx<'_>,
    loaded: &OrderAggregate,
    options: LoadOptions,
) -> Result<Option<u64>, AttemptError> {
    let LoadOptions::QueueLength { up_to } = options else { return Ok(None) };
    let mut length = queue_length(tx).await?;
    if length + MARGIN >= up_to {
        sqlx::query(sql::LOCK_QUEUE).execute(&mut *tx.connection).await?;
        length = queue_length(tx).await?;
    }
    Ok(Some(length.saturating_sub(waiting_of(loaded)).min(up_to)))
}

async fn queue_length(tx: &mut Tx<'_>) -> Result<u64, AttemptError> {
    let length: i64 = sqlx::query_scalar(sql::WAITING).fetch_one(&mut *tx.connection).await?;
    Ok(u64::try_from(length).unwrap_or(0))
}

async fn keep_side_writes(
    tx: &mut Tx<'_>,
    id: OrderId,
    writes: SideWrites,
) -> Result<(), AttemptError> {
    if let Some(entry) = writes.inbox {
        keep_callback(tx, &entry).await?;
    }
    if let Some((request, outcome)) = writes.kept
        && !keep_outcome(tx, &request, &outcome).await?
    {
        return Err(KEY_TAKEN.into());
    }
    if let Some(entry) = writes.audit {
        sqlx::query(sql::AUDIT)
            .bind(clean(&entry.action))
            .bind(id.to_string())
            .bind(entry.task_id.map(TaskId::get))
            .bind(clean(&entry.reason))
            .bind(clean(&entry.by))
            .bind(tx.now)
            .execute(&mut *tx.connection)
            .await?;
        if entry.settles {
            sqlx::query(sql::SETTLE)
                .bind(entry.task_id.map(TaskId::get))
                .bind(clean(&entry.by))
                .bind(tx.now)
                .execute(&mut *tx.connection)
                .await?;
        }
    }
    Ok(())
}
