//! Every statement that SQLite is asked. All are constants: each is prepared once a connection.

/// Kinds that this version knows: others, of a newer version, it neither reads nor claims.
macro_rules! known_kind {
    () => {
        "t.kind IN ('register_payment', 'cancel_payment', 'refund_payment', 'sync_payment')"
    };
}

macro_rules! order_json {
    () => {
        "json_object('id', hex(o.id), 'customer_id', o.customer_id, 'status', o.status, \
         'items', json(o.items), 'total', o.total, 'currency', o.currency, 'owner', o.owner, \
         'external_id', o.external_id, 'details', json(o.details), 'buyer', json(o.buyer), \
         'cancel_requested_at', o.cancel_requested_at, \
         'created_at', o.created_at, 'updated_at', o.updated_at, 'version', o.version)"
    };
}

macro_rules! registration_json {
    () => {
        "json_object('order_id', hex(r.order_id), 'provider', r.provider, 'sequence', r.sequence, \
         'number', r.number, 'amount', r.amount, 'refunded', r.refunded, 'currency', r.currency, \
         'state', r.state, 'ending', r.ending, 'decline_code', r.decline_code, \
         'external_id', r.external_id, 'form_url', r.form_url, 'return_url', r.return_url, 'sent_at', r.sent_at, 'not_found', r.not_found, \
         'cancel_sent_at', r.cancel_sent_at, 'hinted', json(iif(r.hinted, 'true', 'false')), \
         'given_up_at', r.given_up_at, 'sync_requested_at', r.sync_requested_at, \
         'registered_at', r.registered_at, 'paid_at', r.paid_at, \
         'paid_late', json(iif(r.paid_late, 'true', 'false')), 'ended_at', r.ended_at, \
         'looks', r.looks, 'strange_since', r.strange_since, 'expires_at', r.expires_at, \
         'evidence', r.evidence, 'contradiction', r.contradiction, \
         'created_at', r.created_at, 'updated_at', r.updated_at)"
    };
}

macro_rules! refund_json {
    () => {
        "json_object('order_id', hex(f.order_id), 'key', f.key, 'provider', f.provider, \
         'sequence', f.sequence, 'amount', f.amount, 'currency', f.currency, 'state', f.state, \
         'origin', f.origin, 'task_id', f.task_id, 'told_before', f.told_before, \
         'sent_at', f.sent_at, 'sends', f.sends, \
         'acknowledged', json(iif(f.acknowledged, 'true', 'false')), 'unchanged', f.unchanged, \
         'created_at', f.created_at, 'updated_at', f.updated_at)"
    };
}

macro_rules! task_json {
    () => {
        "json_object('id', t.id, 'order_id', hex(t.order_id), 'kind', t.kind, 'state', t.state, \
         'reason', t.reason, 'run_at', t.run_at, 'lane', t.lane, 'attempts', t.attempts, \
         'lost_leases', t.lost_leases, 'deadline', t.deadline, 'lease_owner', t.lease_owner, \
         'lease_token', iif(t.lease_token IS NULL, NULL, hex(t.lease_token)), \
         'lease_until', t.lease_until, 'result_provider', t.result_provider, \
         'result_sequence', t.result_sequence, 'error', t.error, 'dispute', t.dispute, \
         'settled_by', t.settled_by, 'settled_at', t.settled_at, 'trace', t.trace, \
         'return_url', t.return_url, 'form_lifetime', t.form_lifetime, 'created_at', t.created_at, \
         'updated_at', t.updated_at, 'version', t.version)"
    };
}

/// An aggregate as one value of one statement, which is one snapshot.
macro_rules! select_aggregate {
    () => {
        concat!(
            "SELECT json_object('order', ",
            order_json!(),
            ", 'registrations', (SELECT json_group_array(",
            registration_json!(),
            ") FROM registrations r WHERE r.order_id = o.id), \
             'refunds', (SELECT json_group_array(",
            refund_json!(),
            ") FROM refunds f WHERE f.order_id = o.id), \
             'tasks', (SELECT json_group_array(",
            task_json!(),
            ") FROM tasks t WHERE t.order_id = o.id AND t.state IN ('queued', 'running') AND ",
            known_kind!(),
            ")) FROM orders o"
        )
    };
}

pub const SELECT_AGGREGATE: &str = select_aggregate!();

/// Of a list that names its orders.
pub const LISTED_IDS: &str = "SELECT unhex(value, '-') FROM json_each($9)";

/// `$1` orders as JSON.
pub const LOAD: &str =
    concat!(select_aggregate!(), " WHERE o.id IN (SELECT unhex(value, '-') FROM json_each($1))");

/// `$1` order, `$2` the only customer whose order it may be.
pub const AGGREGATE: &str =
    concat!(select_aggregate!(), " WHERE o.id = $1 AND ($2 IS NULL OR o.customer_id = $2)");

/// `$1` task, `$2` the only customer whose task it may be.
pub const TASK: &str = concat!(
    "SELECT json_object('task', ",
    task_json!(),
    ", 'registration', (SELECT ",
    registration_json!(),
    " FROM registrations r WHERE r.order_id = t.order_id AND r.provider = t.result_provider \
     AND r.sequence = t.result_sequence), 'refund', json((SELECT ",
    refund_json!(),
    " FROM refunds f WHERE f.order_id = t.order_id AND (f.task_id = t.id OR (t.kind = 'cancel_payment' \
     AND f.origin = 'cancel' AND f.provider = t.result_provider AND f.sequence = t.result_sequence)) \
     ORDER BY f.created_at LIMIT 1))) \
     FROM tasks t JOIN orders o ON o.id = t.order_id \
     WHERE t.id = $1 AND ($2 IS NULL OR o.customer_id = $2) AND ",
    known_kind!()
);

pub const SELECT_TASK: &str =
    concat!("SELECT ", task_json!(), " FROM tasks t WHERE ", known_kind!());

pub const FIND_ORDER: &str =
    "SELECT order_id FROM registrations WHERE provider = $1 AND number = $2";

/// Kept by triggers.
pub const WAITING: &str = "SELECT waiting FROM queue_length";

/// `$1` new orders as JSON: one statement, however many callers are in the batch.
pub const PLACE: &str = "INSERT INTO orders (id, customer_id, status, items, total, currency, \
    owner, external_id, details, buyer, created_at, updated_at, version) \
    SELECT unhex(value ->> 'id', '-'), value ->> 'customer_id', value ->> 'status', \
    json(value -> 'items'), value ->> 'total', value ->> 'currency', value ->> 'owner', \
    value ->> 'external_id', json(value -> 'details'), json(value -> 'buyer'), \
    value ->> 'created_at', value ->> 'updated_at', value ->> 'version' FROM jsonb_each($1); \
    INSERT INTO events (order_id, sequence, kind, at) SELECT unhex(value ->> 'id', '-'), 1, \
    'order.placed', value ->> 'created_at' FROM jsonb_each($1)";

/// `$1` what a shop calls an order, `$2` the shop.
pub const REFERRED: &str = "SELECT id FROM orders WHERE external_id = $1 AND owner = $2";

/// What decisions changed: `$1` orders, `$2` registrations, `$3` refunds, `$4` tasks, `$5` events, orders and tasks
/// with their new version. Five statements in one trip to the connection's thread. `jsonb_each` gives each element as SQLite
/// parsed it; `json_each` would write it as text again for every field that is taken from it.
pub const SAVE: &str = "UPDATE orders SET status = value ->> 'status', \
    cancel_requested_at = value ->> 'cancel_requested_at', \
    updated_at = value ->> 'updated_at', version = value ->> 'version' FROM jsonb_each($1) \
    WHERE orders.id = unhex(value ->> 'id', '-') \
    AND orders.version = (value ->> 'version') - 1; \
    INSERT INTO registrations (order_id, provider, sequence, number, amount, refunded, currency, \
    state, ending, decline_code, external_id, form_url, return_url, sent_at, not_found, cancel_sent_at, hinted, \
    given_up_at, sync_requested_at, registered_at, paid_at, paid_late, ended_at, looks, \
    strange_since, expires_at, evidence, contradiction, created_at, updated_at) \
    SELECT unhex(value ->> 'order_id', '-'), value ->> 'provider', value ->> 'sequence', \
    value ->> 'number', value ->> 'amount', value ->> 'refunded', value ->> 'currency', \
    value ->> 'state', value ->> 'ending', value ->> 'decline_code', value ->> 'external_id', \
    value ->> 'form_url', value ->> 'return_url', \
    value ->> 'sent_at', value ->> 'not_found', value ->> 'cancel_sent_at', value ->> 'hinted', \
    value ->> 'given_up_at', value ->> 'sync_requested_at', value ->> 'registered_at', \
    value ->> 'paid_at', value ->> 'paid_late', value ->> 'ended_at', value ->> 'looks', \
    value ->> 'strange_since', value ->> 'expires_at', value ->> 'evidence', \
    value ->> 'contradiction', value ->> 'created_at', value ->> 'updated_at' FROM jsonb_each($2) WHERE true \
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
    updated_at = excluded.updated_at; \
    INSERT INTO refunds (order_id, key, provider, sequence, amount, currency, state, origin, \
    task_id, told_before, sent_at, sends, acknowledged, unchanged, created_at, updated_at) \
    SELECT unhex(value ->> 'order_id', '-'), value ->> 'key', value ->> 'provider', \
    value ->> 'sequence', value ->> 'amount', value ->> 'currency', value ->> 'state', \
    value ->> 'origin', value ->> 'task_id', value ->> 'told_before', value ->> 'sent_at', \
    value ->> 'sends', value ->> 'acknowledged', value ->> 'unchanged', value ->> 'created_at', \
    value ->> 'updated_at' FROM jsonb_each($3) WHERE true \
    ON CONFLICT (order_id, key) DO UPDATE SET state = excluded.state, task_id = excluded.task_id, \
    told_before = excluded.told_before, sent_at = excluded.sent_at, sends = excluded.sends, \
    acknowledged = excluded.acknowledged, unchanged = excluded.unchanged, \
    updated_at = excluded.updated_at; \
    INSERT INTO tasks (id, order_id, kind, state, reason, run_at, lane, attempts, lost_leases, \
    deadline, lease_owner, lease_token, lease_until, result_provider, result_sequence, error, \
    dispute, trace, return_url, form_lifetime, created_at, updated_at, version) \
    SELECT value ->> 'id', unhex(value ->> 'order_id', '-'), value ->> 'kind', value ->> 'state', \
    value ->> 'reason', value ->> 'run_at', value ->> 'lane', value ->> 'attempts', \
    value ->> 'lost_leases', value ->> 'deadline', value ->> 'lease_owner', \
    unhex(value ->> 'lease_token', '-'), value ->> 'lease_until', value ->> 'result_provider', \
    value ->> 'result_sequence', value ->> 'error', value ->> 'dispute', value ->> 'trace', \
    value ->> 'return_url', value ->> 'form_lifetime', value ->> 'created_at', \
    value ->> 'updated_at', value ->> 'version' FROM jsonb_each($4) WHERE true \
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, reason = excluded.reason, \
    run_at = excluded.run_at, lane = excluded.lane, attempts = excluded.attempts, \
    lost_leases = excluded.lost_leases, deadline = excluded.deadline, \
    lease_owner = excluded.lease_owner, lease_token = excluded.lease_token, \
    lease_until = excluded.lease_until, result_provider = excluded.result_provider, \
    result_sequence = excluded.result_sequence, error = excluded.error, \
    dispute = excluded.dispute, trace = excluded.trace, return_url = excluded.return_url, \
    form_lifetime = excluded.form_lifetime, \
    updated_at = excluded.updated_at, version = excluded.version \
    WHERE version = excluded.version - 1; \
    INSERT INTO events (order_id, sequence, kind, at, snapshot) \
    SELECT unhex(value ->> 'order_id', '-'), (value ->> 'nth') + (SELECT coalesce(max(e.sequence), 0) \
    FROM events e WHERE e.order_id = unhex(value ->> 'order_id', '-')), value ->> 'kind', \
    value ->> 'at', json(value -> 'snapshot') FROM jsonb_each($5)";

macro_rules! event_json {
    () => {
        concat!(
            "SELECT json_object('position', e.position, 'sequence', e.sequence, 'kind', e.kind, \
             'at', e.at, 'snapshot', json(e.snapshot), 'order', ",
            order_json!(),
            ") FROM events e JOIN orders o ON o.id = e.order_id "
        )
    };
}

/// `$1` order, `$2` after which sequence, `$3` how many.
pub const EVENTS_OF_ORDER: &str = concat!(
    event_json!(),
    "WHERE e.order_id = $1 AND e.sequence > $2 ORDER BY e.sequence LIMIT $3"
);

/// `$1` after which position, `$2` the only customer whose orders they may be of, `$3` how many.
pub const EVENTS: &str = concat!(
    event_json!(),
    "WHERE e.position > $1 AND ($2 IS NULL OR o.customer_id = $2) ORDER BY e.position LIMIT $3"
);

/// `$1` order, `$2` sequence, `$3` the only customer whose order it may be.
pub const POSITION_OF_EVENT: &str = "SELECT e.position FROM events e JOIN orders o ON o.id = e.order_id \
    WHERE e.order_id = $1 AND e.sequence = $2 AND ($3 IS NULL OR o.customer_id = $3)";

/// The longest due of a lane: `$1` lane, `$2` now, `$3` how many.
macro_rules! due {
    ($routine:literal) => {
        concat!(
            "SELECT id FROM (SELECT t.id FROM tasks t WHERE t.lane = $1 AND t.routine = ",
            $routine,
            " AND t.due_at <= $2 AND t.state IN ('queued', 'running') AND ",
            known_kind!(),
            " AND NOT EXISTS (SELECT 1 FROM registrations x WHERE x.order_id = t.order_id \
             AND x.provider NOT IN (SELECT value FROM json_each($7))) \
             ORDER BY t.due_at LIMIT $3)"
        )
    };
}

/// One lane, routine polls last: `$1` to `$3` as above, `$4` owner, `$5` token, `$6` end of the lease, `$7`
/// the payment systems that are known here, as JSON: what a newer version does at others is left to it.
pub const CLAIM: &str = concat!(
    "UPDATE tasks SET lost_leases = lost_leases + (state = 'running'), state = 'running', \
     lease_owner = $4, lease_token = $5, lease_until = $6, version = version + 1, \
     updated_at = $2 WHERE id IN (",
    due!("0"),
    " UNION ALL ",
    due!("1"),
    " LIMIT $3) RETURNING json_object('id', id, 'order_id', hex(order_id), 'kind', kind, \
     'attempts', attempts, 'trace', trace, 'run_at', run_at)"
);

/// `$1` lane, `$2` now, `$3` how many.
pub const BRING_FORWARD: &str = "UPDATE tasks SET run_at = $2, version = version + 1 WHERE id IN \
    (SELECT id FROM tasks WHERE lane = $1 AND routine = 0 AND due_at > $2 AND state IN ('queued', 'running') \
    AND state = 'queued' AND reason = 'breaker_open' ORDER BY due_at LIMIT $3)";

/// `$1` owner, `$2` now.
pub const RELEASE: &str = "UPDATE tasks SET state = 'queued', run_at = $2, lease_owner = NULL, \
    lease_token = NULL, lease_until = NULL, version = version + 1, updated_at = $2 \
    WHERE state = 'running' AND lease_owner = $1";

/// The same once more is counted in its row. Answers how often it came.
pub const KEEP_CALLBACK: &str = "INSERT INTO callbacks (provider, number, event_id, kind, signed, \
    received_at, last_at) VALUES ($1, $2, $3, $4, $5, $6, $6) \
    ON CONFLICT (provider, event_id) DO UPDATE SET times = times + 1, last_at = excluded.last_at \
    ON CONFLICT (provider, number, kind) WHERE event_id IS NULL AND last_at IS NOT NULL \
    DO UPDATE SET times = times + 1, last_at = excluded.last_at RETURNING times";

/// The body is UTF-8, whoever wrote it.
pub const FIND_RECORD: &str = "SELECT json_object('fingerprint', hex(fingerprint), \
    'body', CAST(body AS TEXT)) FROM idempotency_keys \
    WHERE owner = $1 AND route = $2 AND key = $3";

/// `$1` key and outcome as JSON, `$2` now.
pub const KEEP_OUTCOME: &str = "INSERT INTO idempotency_keys (owner, route, key, fingerprint, \
    status, body, created_at) VALUES ($1 ->> 'owner', $1 ->> 'route', $1 ->> 'key', \
    unhex($1 ->> 'fingerprint'), $1 ->> 'status', CAST($1 ->> 'body' AS BLOB), $2) \
    ON CONFLICT DO NOTHING";

pub const AUDIT: &str = "INSERT INTO audit (at, action, order_id, task_id, reason, by_name) \
    VALUES ($1, $2, $3, $4, $5, $6)";

/// `$1` task, `$2` who, `$3` now.
pub const SETTLE: &str = "UPDATE tasks SET settled_by = $2, settled_at = $3 \
    WHERE id = $1 AND state = 'review' AND settled_at IS NULL";

/// `$1` the only order, `$2` and `$3` the entry before, `$4` how many; newest first.
pub const READ_AUDIT: &str = "SELECT json_object('id', d.id, 'at', d.at, 'action', d.action, \
    'order_id', nullif(hex(d.order_id), ''), 'task_id', d.task_id, 'reason', d.reason, 'by', d.by_name) FROM (\
    SELECT * FROM (SELECT a.id, a.at, a.action, a.order_id, a.task_id, a.reason, a.by_name FROM audit a \
    WHERE ($1 IS NULL OR a.order_id = $1) AND ($2 IS NULL OR (a.at, a.id) < ($2, $3)) \
    ORDER BY a.at DESC, a.id DESC LIMIT $4) UNION ALL \
    SELECT m.id, m.at, m.action, NULL, NULL, m.reason, m.by_name FROM (\
    SELECT id + 4611686018427387904 AS id, at, 'service_mode:' || mode AS action, reason, by_name \
    FROM service_modes) AS m WHERE $1 IS NULL AND ($2 IS NULL OR (m.at, m.id) < ($2, $3))\
    ) AS d ORDER BY d.at DESC, d.id DESC LIMIT $4";

/// `$1` now. The newest word, if its time is not over.
pub const SERVICE_MODE: &str = "SELECT json_object('mode', mode, 'at', at, 'until', until, 'reason', reason, \
    'by', by_name) FROM (SELECT * FROM service_modes ORDER BY id DESC LIMIT 1) \
    WHERE until IS NULL OR until > $1";

/// `$1` mode, `$2` now, `$3` until, `$4` reason, `$5` by whom.
pub const SAY_SERVICE_MODE: &str = "INSERT INTO service_modes (mode, at, until, reason, by_name) \
    VALUES ($1, $2, $3, $4, $5)";

/// `$1` what an operator calls an order by, `$2` the payment systems that are known here, as JSON, `$3` the
/// same as a task's id.
pub const ORDER_NAMED: &str = "SELECT hex(order_id) FROM (\
    SELECT 1 AS rank, order_id FROM registrations \
    WHERE provider IN (SELECT value FROM json_each($2)) AND number = $1 \
    UNION ALL SELECT 2, order_id FROM registrations \
    WHERE provider IN (SELECT value FROM json_each($2)) AND external_id = $1 \
    UNION ALL SELECT 3, id FROM orders WHERE external_id = $1 \
    UNION ALL SELECT 4, order_id FROM tasks WHERE id = $3) ORDER BY rank, order_id DESC LIMIT 1";

/// `$1` order, `$2` how many.
pub const CALLBACKS: &str = "SELECT json_object('provider', c.provider, 'number', c.number, \
    'event_id', c.event_id, 'kind', c.kind, 'signed', json(iif(c.signed, 'true', 'false')), \
    'received_at', c.received_at) FROM registrations r \
    JOIN callbacks c ON c.provider = r.provider AND c.number = r.number \
    WHERE r.order_id = $1 ORDER BY c.received_at DESC, c.id DESC LIMIT $2";

/// What nothing but a person moves on.
macro_rules! for_operator {
    () => {
        "FILTER (WHERE state = 'review' OR (state = 'queued' AND reason = 'operator'))"
    };
}

/// `$1` now. Finished tasks are not counted: there are a month of them.
pub const STATS: &str = concat!(
    "SELECT json_object('kind', kind, 'state', state, 'count', count(*), \
     'oldest_due', max($1 - due_at) FILTER (WHERE due_at <= $1), 'for_operator', count(*) ",
    for_operator!(),
    ", 'oldest_for_operator', max($1 - updated_at) ",
    for_operator!(),
    ") FROM tasks WHERE state IN ('queued', 'running', 'review') AND settled_at IS NULL \
     GROUP BY kind, state ORDER BY kind, state"
);

/// `$1` the moment before which they finished, `$2` how many. What waits for a person stays.
pub const PRUNE_TASKS: &str = "DELETE FROM tasks WHERE id IN (SELECT id FROM tasks \
    WHERE state IN ('succeeded', 'failed', 'cancelled', 'review') AND created_at < $1 \
    AND updated_at < $1 AND (state <> 'review' OR settled_at < $1) LIMIT $2)";

pub const PRUNE_KEYS: &str = "DELETE FROM idempotency_keys WHERE rowid IN \
    (SELECT rowid FROM idempotency_keys WHERE created_at < $1 LIMIT $2)";

pub const PRUNE_CALLBACKS: &str = "DELETE FROM callbacks WHERE id IN \
    (SELECT id FROM callbacks WHERE received_at < $1 ORDER BY received_at LIMIT $2)";

pub const PRUNE_AUDIT: &str = "DELETE FROM audit WHERE id IN \
    (SELECT id FROM audit WHERE at < $1 ORDER BY at LIMIT $2)";

/// Not the order: only whom it was for.
pub const ERASE_BUYERS: &str = "UPDATE orders SET buyer = NULL WHERE id IN \
    (SELECT id FROM orders WHERE buyer IS NOT NULL AND updated_at < $1 ORDER BY updated_at LIMIT $2)";

/// The latest time that an index knows, or readiness has written.
pub const LAST_TIME: &str = "SELECT max((SELECT coalesce(max(updated_at), 0) FROM orders), \
    (SELECT coalesce(max(created_at), 0) FROM tasks), (SELECT at FROM write_probe))";

/// `?1` now.
pub const PROBE: &str = "UPDATE write_probe SET at = ?1";

#[cfg(test)]
mod tests {
    use crate::core::payment::task::TaskKind;

    #[test]
    fn every_kind_of_this_version_is_known_to_sql() {
        for kind in TaskKind::ALL {
            assert!(known_kind!().contains(&format!("'{}'", kind.as_str())), "{kind:?}");
        }
    }
}
