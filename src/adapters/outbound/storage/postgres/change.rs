//! Decisions on aggregates: lock, load, decide, write what differs, commit. One that waits for its order, or
//! a batch's ([`super::change_batch`]).

use super::keys::keep_outcome;
use super::listen::Channel;
use super::orders::keep_callback;
use super::session::{AttemptError, Tx, Work};
use super::sql;
use crate::adapters::outbound::storage::decision::{self, KEY_TAKEN};
use crate::adapters::outbound::storage::diff::ChangedRows;
use crate::adapters::outbound::storage::invariants::{SCHEMA, VERSION};
use crate::adapters::outbound::storage::rows::{
    AggregateRow, NewEventRow, OrderChangeRow, RefundRow, RegistrationRow, TaskRow, clean,
    new_events, read, write,
};
use crate::adapters::outbound::storage::waiting::waiting_of;
use crate::adapters::outbound::storage::wakeups::WakeupSet;
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::order::Order;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::ports::order_repository::{Decide, LoadOptions, SideWrites, TxContext};
use crate::core::ports::storage_error::StorageError;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;
use uuid::Uuid;

/// Decisions of all instances that may be about to join the queue at one moment: eight instances' batches.
const MARGIN: u64 = 1024;

/// What decisions changed, in one statement: `$1` orders, `$2` the mark of this change, `$3` registrations,
/// `$4` refunds, `$5` tasks, `$6` what to notify others of, if anything, `$7` events. Answers how many rows
/// were written.
const SAVE: &str = "WITH o AS (UPDATE orders SET status = n.status, updated_at = n.updated_at, \
    version = n.version, last_change = $2::uuid, cancel_requested_at = n.cancel_requested_at \
    FROM json_to_recordset($1::json) AS n (id uuid, loaded bigint, status text, updated_at bigint, \
    version bigint, cancel_requested_at bigint) \
    WHERE orders.id = n.id AND orders.version = n.loaded RETURNING 1), \
    r AS (INSERT INTO registrations (order_id, provider, sequence, number, amount, refunded, currency, \
    state, ending, decline_code, external_id, form_url, return_url, sent_at, not_found, cancel_sent_at, hinted, \
    given_up_at, sync_requested_at, registered_at, paid_at, paid_late, ended_at, looks, \
    strange_since, expires_at, evidence, contradiction, created_at, updated_at) \
    SELECT order_id, provider, sequence, number, amount, refunded, currency, \
    state, ending, decline_code, external_id, form_url, return_url, sent_at, not_found, cancel_sent_at, hinted, \
    given_up_at, sync_requested_at, registered_at, paid_at, paid_late, ended_at, looks, \
    strange_since, expires_at, evidence, contradiction, created_at, updated_at \
    FROM json_populate_recordset(NULL::registrations, $3::json) \
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
    FROM json_populate_recordset(NULL::refunds, $4::json) \
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
    FROM json_populate_recordset(NULL::tasks, $5::json) \
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
    e AS (INSERT INTO events (order_id, sequence, kind, at, snapshot) SELECT n.order_id, \
    n.nth + (SELECT coalesce(max(sequence), 0) FROM events WHERE order_id = n.order_id), \
    n.kind, n.at, n.snapshot FROM json_to_recordset($7::json) \
    AS n (order_id uuid, nth bigint, kind text, at bigint, snapshot json) RETURNING 1) \
    SELECT (SELECT count(*) FROM o) + (SELECT count(*) FROM r) + (SELECT count(*) FROM f) \
    + (SELECT count(*) FROM t) + (SELECT count(*) FROM e), \
    CASE WHEN $6::text IS NOT NULL THEN pg_notify('order_tasks', $6)::text END";

pub struct OrderChange {
    pub id: OrderId,
    pub options: LoadOptions,
    pub decide: Decide,
    /// The mark that the last attempt left on the order, and whom it would have woken.
    pub attempted: Option<(Uuid, WakeupSet)>,
}

/// One decision, which waits for its order's row.
pub struct SingleChange {
    pub change: OrderChange,
    pub channel: Arc<Channel>,
}

#[async_trait::async_trait]
impl Work for SingleChange {
    type Output = Option<WakeupSet>;
    const TRANSACTION: bool = true;

    /// `None` when there is no such order. After a lost COMMIT the order's mark tells whether that
    /// attempt is there: the lock waits until the server has made up its mind about it.
    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Option<WakeupSet>, AttemptError> {
        let locked: Option<(Option<String>,)> = sqlx::query_as(sql::LOCK_ORDER)
            .bind(self.change.id.to_string())
            .fetch_optional(&mut *tx.connection)
            .await?;
        let Some((mark,)) = locked else { return Ok(None) };
        if let Some((attempted, wakeups)) = self.change.attempted
            && mark == Some(attempted.to_string())
        {
            return Ok(Some(wakeups));
        }
        let decided = decide_all(vec![&mut self.change], sql::LOAD, &self.channel, tx).await?;
        decided.into_values().next().map(Some).ok_or(StorageError::Corrupt(SCHEMA).into())
    }
}

/// Decides on orders whose rows are locked, and saves what changed in one statement. Whom each change wakes;
/// without those that `load` did not find.
pub async fn decide_all(
    changes: Vec<&mut OrderChange>,
    load: &'static str,
    channel: &Channel,
    tx: &mut Tx<'_>,
) -> Result<HashMap<OrderId, WakeupSet>, AttemptError> {
    let ids: Vec<_> = changes.iter().map(|change| change.id.to_string()).collect();
    let rows: Vec<(String, i64)> =
        sqlx::query_as(load).bind(ids).bind(tx.now).fetch_all(&mut *tx.connection).await?;
    let mut loaded = HashMap::with_capacity(rows.len());
    for (json, now) in rows {
        let aggregate = read::<AggregateRow>(&json)?.restore()?;
        loaded.insert(aggregate.order.id, (aggregate, Timestamp::from_micros(now)));
    }
    let limits = changes.iter().filter_map(|change| match change.options {
        LoadOptions::QueueLength { up_to } => Some(up_to),
        LoadOptions::Aggregate => None,
    });
    let mut queue = match limits.min() {
        Some(up_to) => queue_length(tx, up_to).await?,
        None => 0,
    };
    let mark = Uuid::from_u128(fastrand::u128(..));
    let (mut rows, mut decided) = (BatchRows::default(), HashMap::with_capacity(loaded.len()));
    for change in changes {
        let Some((loaded, now)) = loaded.remove(&change.id) else { continue };
        let context = TxContext { now, waiting: waiting(queue, &loaded, change.options) };
        let (changes, writes) = decision::run(&mut change.decide, &loaded, &context)?;
        let wakeups = changes.as_ref().map(|changes| changes.wakeups(now)).unwrap_or_default();
        if changes.is_some() || writes != SideWrites::default() {
            // What is not saved yet counts for the next one.
            queue += changes.as_ref().map_or(0, |changes| changes.joined(&loaded));
            change.attempted = Some((mark, wakeups));
            rows.add(&loaded.order, changes);
            keep_side_writes(tx, change.id, writes).await?;
        }
        decided.insert(change.id, wakeups);
    }
    let due = decided.values().any(|wakeups| wakeups.due);
    rows.save(tx, mark, due.then(|| channel.due())).await?;
    Ok(decided)
}

/// An order as a decision left it. Without changes only the mark is left, for what else is kept.
#[derive(Serialize)]
struct SavedOrder {
    #[serde(flatten)]
    order: OrderChangeRow,
    /// The version that was loaded.
    loaded: i64,
}

/// What decisions changed.
#[derive(Default)]
struct BatchRows {
    orders: Vec<SavedOrder>,
    registrations: Vec<RegistrationRow>,
    refunds: Vec<RefundRow>,
    tasks: Vec<TaskRow>,
    events: Vec<NewEventRow>,
}

impl BatchRows {
    fn add(&mut self, loaded: &Order, changes: Option<ChangedRows>) {
        let order = changes.as_ref().map_or(loaded, |changes| &changes.order);
        self.orders.push(SavedOrder { order: order.into(), loaded: loaded.version });
        let Some(changes) = changes else { return };
        self.registrations
            .extend(changes.registrations.iter().map(|made| RegistrationRow::of(loaded.id, made)));
        self.refunds.extend(changes.refunds.iter().map(|made| RefundRow::of(loaded.id, made)));
        self.tasks.extend(changes.tasks.iter().map(TaskRow::from));
        self.events.extend(changes.events.iter().flat_map(new_events));
    }

    async fn save(
        self,
        tx: &mut Tx<'_>,
        mark: Uuid,
        notice: Option<String>,
    ) -> Result<(), AttemptError> {
        let Self { orders, registrations, refunds, tasks, events } = self;
        if orders.is_empty() {
            return Ok(());
        }
        let (saved, _): (i64, Option<String>) = sqlx::query_as(SAVE)
            .bind(write(&orders))
            .bind(mark.to_string())
            .bind(write(&registrations))
            .bind(write(&refunds))
            .bind(write(&tasks))
            .bind(notice)
            .bind(write(&events))
            .fetch_one(&mut *tx.connection)
            .await?;
        let written =
            orders.len() + registrations.len() + refunds.len() + tasks.len() + events.len();
        if usize::try_from(saved) == Ok(written) {
            Ok(())
        } else {
            Err(StorageError::Corrupt(VERSION).into())
        }
    }
}

/// The queue's length without the order's own tasks.
fn waiting(queue: i64, loaded: &OrderAggregate, options: LoadOptions) -> Option<u64> {
    let LoadOptions::QueueLength { up_to } = options else { return None };
    let length = u64::try_from(queue).unwrap_or(0);
    Some(length.saturating_sub(waiting_of(loaded)).min(up_to))
}

/// The queue's length. What others are just adding is not in it, so within [`MARGIN`] of the
/// limit it is read under a lock: the limit holds as long as no more than that join at the same moment, on
/// all instances.
async fn queue_length(tx: &mut Tx<'_>, up_to: u64) -> Result<i64, AttemptError> {
    let length: i64 = sqlx::query_scalar(sql::WAITING).fetch_one(&mut *tx.connection).await?;
    if u64::try_from(length).unwrap_or(0) + MARGIN < up_to {
        return Ok(length);
    }
    sqlx::query(sql::LOCK_QUEUE).execute(&mut *tx.connection).await?;
    Ok(sqlx::query_scalar(sql::WAITING).fetch_one(&mut *tx.connection).await?)
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
