//! Every statement that PostgreSQL is asked. All are constants: each is prepared once a connection.
//! Ids travel as text and are cast, which spares a driver feature for two types.

/// Kinds that this version knows: others, of a newer version, it neither reads nor claims.
macro_rules! known_kind {
    () => {
        "t.kind IN ('register_payment', 'cancel_payment', 'refund_payment', 'sync_payment')"
    };
}

/// The database's clock in microseconds, unless a test gives its own.
macro_rules! now {
    ($given:literal) => {
        concat!(
            "coalesce(",
            $given,
            "::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
        )
    };
}

macro_rules! registrations_json {
    () => {
        "(SELECT coalesce(json_agg(r), '[]') FROM registrations r WHERE r.order_id = o.id)"
    };
}

macro_rules! refunds_json {
    () => {
        "(SELECT coalesce(json_agg(f), '[]') FROM refunds f WHERE f.order_id = o.id)"
    };
}

/// An aggregate as one value of one statement, which is one snapshot.
macro_rules! select_aggregate {
    () => {
        concat!(
            "SELECT json_build_object('order', o, 'registrations', ",
            registrations_json!(),
            ", 'refunds', ",
            refunds_json!(),
            ", 'tasks', (SELECT coalesce(json_agg(t), '[]') FROM tasks t WHERE t.order_id = o.id \
             AND t.state IN ('queued', 'running') AND ",
            known_kind!(),
            "))::text FROM orders o"
        )
    };
}

pub const SELECT_AGGREGATE: &str = select_aggregate!();

/// Of a list that names its orders.
pub const LISTED_IDS: &str = "SELECT value::uuid FROM json_array_elements_text($9::json)";

/// `$1` order, `$2` the only customer whose order it may be.
pub const AGGREGATE: &str = concat!(
    select_aggregate!(),
    " WHERE o.id = $1::uuid AND ($2::text IS NULL OR o.customer_id = $2)"
);

/// `$1` task, `$2` the only customer whose task it may be.
pub const TASK: &str = concat!(
    "SELECT json_build_object('task', t, 'registration', (SELECT row_to_json(r) \
     FROM registrations r WHERE r.order_id = t.order_id AND r.provider = t.result_provider \
     AND r.sequence = t.result_sequence), 'refund', (SELECT row_to_json(f) FROM refunds f \
     WHERE f.order_id = t.order_id AND (f.task_id = t.id OR (t.kind = 'cancel_payment' \
     AND f.origin = 'cancel' AND f.provider = t.result_provider AND f.sequence = t.result_sequence)) \
     ORDER BY f.created_at LIMIT 1))::text \
     FROM tasks t JOIN orders o ON o.id = t.order_id \
     WHERE t.id = $1 AND ($2::text IS NULL OR o.customer_id = $2) AND ",
    known_kind!()
);

pub const SELECT_TASK: &str =
    concat!("SELECT row_to_json(t)::text FROM tasks t WHERE ", known_kind!());

pub const FIND_ORDER: &str =
    "SELECT order_id::text FROM registrations WHERE provider = $1 AND number = $2";

/// Held to the end of the transaction by whoever joins a queue that is nearly full.
pub const LOCK_QUEUE: &str = "SELECT pg_advisory_xact_lock(7305437184123790965)";

/// Kept by triggers; without what is not committed yet.
pub const WAITING: &str = "SELECT sum(waiting)::bigint FROM queue_length";

/// A statement of its own: what is read in the same statement as a lock that had to wait is older
/// than the lock.
pub const LOCK_ORDER: &str = "SELECT last_change::text FROM orders WHERE id = $1::uuid FOR UPDATE";

/// `$1` orders: those of them that nobody holds.
pub const LOCK_FREE_ORDERS: &str = "SELECT id::text FROM orders WHERE id = ANY ($1::text[]::uuid[]) \
    ORDER BY id FOR UPDATE SKIP LOCKED";

/// Aggregates under their locks, and the time: `$1` orders, `$2` a test's now. Claiming changes tasks without
/// the order's lock, so they are locked as well.
macro_rules! load {
    ($locked:literal, $complete:literal) => {
        concat!(
            "WITH t AS MATERIALIZED (SELECT * FROM tasks t WHERE t.order_id = ANY ($1::text[]::uuid[]) \
             AND t.state IN ('queued', 'running') AND ",
            known_kind!(),
            " ORDER BY t.id FOR UPDATE ",
            $locked,
            ") SELECT json_build_object('order', o, 'registrations', ",
            registrations_json!(),
            ", 'refunds', ",
            refunds_json!(),
            ", 'tasks', (SELECT coalesce(json_agg(t), '[]') FROM t WHERE t.order_id = o.id))::text, ",
            now!("$2"),
            " FROM orders o WHERE o.id = ANY ($1::text[]::uuid[])",
            $complete
        )
    };
}

pub const LOAD: &str = load!("", "");

/// Without those of which somebody holds a task.
pub const LOAD_FREE: &str = load!(
    "SKIP LOCKED",
    " AND NOT EXISTS (SELECT 1 FROM tasks x WHERE x.order_id = o.id AND x.state IN ('queued', 'running') \
     AND x.kind IN ('register_payment', 'cancel_payment', 'refund_payment', 'sync_payment') \
     AND x.id NOT IN (SELECT id FROM t))"
);

/// The first event of each order of `placed`; all that it tells is in the order's own row.
macro_rules! told_placed {
    () => {
        "INSERT INTO events (order_id, sequence, kind, at) SELECT id, 1, 'order.placed', created_at FROM placed"
    };
}

/// `$1` orders as JSON, `$2` a test's now. Answers when they were placed.
pub const PLACE: &str = concat!(
    "WITH placed AS (INSERT INTO orders (id, customer_id, status, items, total, currency, owner, \
     external_id, details, buyer, created_at, updated_at, version) SELECT id, customer_id, status, items, \
     total, currency, owner, external_id, details, buyer, now, now, 1 \
     FROM json_populate_recordset(NULL::orders, $1::json), (SELECT ",
    now!("$2"),
    " AS now OFFSET 0) AS clock RETURNING id, created_at), told AS (",
    told_placed!(),
    ") SELECT max(created_at) FROM placed"
);

/// `$1` what a shop calls an order, `$2` the shop.
pub const REFERRED: &str = "SELECT id::text FROM orders WHERE external_id = $1 AND owner = $2";

pub const PLACED_AT: &str = "SELECT created_at FROM orders WHERE id = $1::uuid";

macro_rules! claimed_json {
    () => {
        "json_build_object('id', tasks.id, 'order_id', order_id, 'kind', kind, \
         'attempts', attempts, 'trace', trace, 'run_at', run_at)::text"
    };
}

/// The longest due of a lane.
macro_rules! due {
    ($routine:literal) => {
        concat!(
            "(SELECT t.id FROM tasks t WHERE t.lane = lane.name AND t.routine = ",
            $routine,
            " AND t.due_at <= clock.now AND t.state IN ('queued', 'running') AND ",
            known_kind!(),
            " AND (SELECT bool_and(x.provider = ANY ($7)) FROM registrations x \
             WHERE x.order_id = t.order_id) IS NOT FALSE \
             ORDER BY t.due_at LIMIT lane.size FOR UPDATE SKIP LOCKED)"
        )
    };
}

/// `$1` a test's now, `$2` lanes, `$3` how many of each, `$4` owner, `$5` token, `$6` the lease, `$7` the
/// payment systems that are known here: what a newer version does at others is left to it.
/// Routine polls come last: those are only looked at, and locked, where the others left room.
/// What is due becomes an array, which the planner takes for short; of a join with it, it would fear
/// thousands of rows and read the whole table. Whoever looks for what this claim took, because its
/// answer was lost, waits at the token's lock until it is over.
pub const CLAIM: &str = concat!(
    "WITH clock AS MATERIALIZED (SELECT ",
    now!("$1"),
    " AS now, pg_advisory_xact_lock(hashtextextended($5, 0))), due AS MATERIALIZED (SELECT t.id FROM clock, \
     unnest($2::text[], $3::bigint[]) AS lane (name, size) CROSS JOIN LATERAL \
     (SELECT id FROM ",
    due!("false"),
    " AS first UNION ALL SELECT id FROM ",
    due!("true"),
    " AS routine LIMIT lane.size) AS t) \
     UPDATE tasks SET lost_leases = lost_leases + (state = 'running')::int, state = 'running', \
     lease_owner = $4, lease_token = $5::uuid, lease_until = clock.now + $6, \
     version = version + 1, updated_at = clock.now FROM clock \
     WHERE tasks.id = ANY (ARRAY(SELECT id FROM due)) \
     RETURNING ",
    claimed_json!()
);

/// `$1` the token of a claim: waits for its end, where it is still running.
pub const AWAIT_CLAIM: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";

/// What a claim took whose answer was lost. `$1` token.
pub const CLAIMED: &str = concat!(
    "SELECT ",
    claimed_json!(),
    " FROM tasks WHERE state = 'running' AND lease_token = $1::uuid"
);

/// `$1` owner, `$2` a test's now. In one order, so that two who hand back cannot lock each other.
pub const BRING_FORWARD: &str = concat!(
    "WITH clock AS MATERIALIZED (SELECT ",
    now!("$2"),
    " AS now), kept AS MATERIALIZED (SELECT t.id FROM tasks t, clock WHERE t.lane = $1 AND NOT t.routine \
     AND t.due_at > clock.now AND t.state = 'queued' AND t.reason = 'breaker_open' \
     ORDER BY t.due_at LIMIT $3 FOR UPDATE OF t SKIP LOCKED) \
     UPDATE tasks SET run_at = clock.now, version = version + 1 FROM kept, clock WHERE tasks.id = kept.id"
);

/// `$1` owner, `$2` a test's now.
pub const RELEASE: &str = concat!(
    "WITH clock AS MATERIALIZED (SELECT ",
    now!("$2"),
    " AS now), mine AS MATERIALIZED (SELECT id FROM tasks WHERE state = 'running' \
     AND lease_owner = $1 ORDER BY id FOR UPDATE) \
     UPDATE tasks SET state = 'queued', run_at = clock.now, lease_owner = NULL, \
     lease_token = NULL, lease_until = NULL, version = version + 1, updated_at = clock.now \
     FROM mine, clock WHERE tasks.id = mine.id"
);

/// The same once more is counted in its row. Answers how often it came.
macro_rules! keep_callback {
    ($same:literal) => {
        concat!(
            "INSERT INTO callbacks (provider, number, event_id, kind, signed, received_at, last_at) \
             SELECT $1, $2, $3, $4, $5, now, now FROM (SELECT ",
            now!("$6"),
            " AS now OFFSET 0) AS clock ON CONFLICT ",
            $same,
            " DO UPDATE SET times = callbacks.times + 1, last_at = excluded.last_at RETURNING times"
        )
    };
}

pub const KEEP_EVENT: &str = keep_callback!("(provider, event_id)");

/// Without an event id: of each kind about each number.
pub const KEEP_WORD: &str =
    keep_callback!("(provider, number, kind) WHERE event_id IS NULL AND last_at IS NOT NULL");

/// `$1` a test's now.
pub const NOW: &str = concat!("SELECT (", now!("$1"), ")::text");

/// The body is UTF-8, whoever wrote it.
pub const FIND_RECORD: &str = "SELECT json_build_object('fingerprint', encode(fingerprint, 'hex'), \
    'body', convert_from(body, 'UTF8'))::text FROM idempotency_keys \
    WHERE owner = $1 AND route = $2 AND key = $3";

/// `$1` key and outcome as JSON, `$2` a test's now.
macro_rules! keep_outcome {
    () => {
        concat!(
            "INSERT INTO idempotency_keys (owner, route, key, fingerprint, status, body, created_at) \
             SELECT owner, route, key, decode(fingerprint, 'hex'), status, \
             convert_to(body, 'UTF8'), ",
            now!("$2"),
            " FROM json_to_record($1::json) AS kept (owner text, route text, key text, \
             fingerprint text, status bigint, body text) ON CONFLICT DO NOTHING"
        )
    };
}

pub const KEEP_OUTCOME: &str = keep_outcome!();

/// Without the key the order is not placed either. `$1` and `$2` as in [`KEEP_OUTCOME`], `$3` the order
/// as JSON. Answers when it was placed.
pub const PLACE_ONCE: &str = concat!(
    "WITH kept AS (",
    keep_outcome!(),
    " RETURNING created_at), placed AS (INSERT INTO orders (id, customer_id, status, items, total, currency, owner, external_id, details, \
     buyer, created_at, updated_at, version) SELECT o.id, o.customer_id, o.status, o.items, o.total, \
     o.currency, o.owner, o.external_id, o.details, o.buyer, \
     kept.created_at, kept.created_at, 1 FROM json_populate_record(NULL::orders, $3::json) AS o, \
     kept RETURNING id, created_at), told AS (",
    told_placed!(),
    ") SELECT created_at FROM placed"
);

pub const AUDIT: &str = concat!(
    "INSERT INTO audit (action, order_id, task_id, reason, by_name, at) \
     VALUES ($1, $2::uuid, $3, $4, $5, ",
    now!("$6"),
    ")"
);

/// `$1` task, `$2` who, `$3` a test's now.
pub const SETTLE: &str = concat!(
    "UPDATE tasks SET settled_by = $2, settled_at = ",
    now!("$3"),
    " WHERE id = $1 AND state = 'review' AND settled_at IS NULL"
);

/// What nothing but a person moves on.
macro_rules! for_operator {
    () => {
        "FILTER (WHERE state = 'review' OR (state = 'queued' AND reason = 'operator'))"
    };
}

/// `$1` a test's now. Finished tasks are not counted: there are a month of them.
pub const STATS: &str = concat!(
    "SELECT json_build_object('kind', kind, 'state', state, 'count', count(*), \
     'oldest_due', max(clock.now - due_at) FILTER (WHERE due_at <= clock.now), \
     'for_operator', count(*) ",
    for_operator!(),
    ", 'oldest_for_operator', max(clock.now - updated_at) ",
    for_operator!(),
    ")::text FROM tasks, (SELECT ",
    now!("$1"),
    " AS now OFFSET 0) AS clock \
     WHERE state IN ('queued', 'running', 'review') AND settled_at IS NULL GROUP BY kind, state"
);

/// `$1` a test's now, `$2` age, `$3` how many. What waits for a person stays.
pub const PRUNE_TASKS: &str = concat!(
    "DELETE FROM tasks WHERE id IN (SELECT id FROM tasks, (SELECT ",
    now!("$1"),
    " - $2 AS oldest OFFSET 0) AS clock WHERE state IN ('succeeded', 'failed', 'cancelled', 'review') \
     AND created_at < oldest AND updated_at < oldest AND (state <> 'review' OR settled_at < oldest) \
     LIMIT $3 FOR UPDATE OF tasks SKIP LOCKED)"
);

/// `$1` a test's now, `$2` age, `$3` how many.
pub const PRUNE_KEYS: &str = concat!(
    "DELETE FROM idempotency_keys WHERE ctid IN (SELECT k.ctid FROM idempotency_keys k, (SELECT ",
    now!("$1"),
    " - $2 AS oldest OFFSET 0) AS clock WHERE k.created_at < oldest LIMIT $3 \
     FOR UPDATE OF k SKIP LOCKED)"
);

/// `$1` a test's now, `$2` age, `$3` how many.
macro_rules! prune_oldest {
    ($table:literal, $at:literal) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE id IN (SELECT r.id FROM ",
            $table,
            " r, (SELECT ",
            now!("$1"),
            " - $2 AS oldest OFFSET 0) AS clock WHERE r.",
            $at,
            " < oldest ORDER BY r.",
            $at,
            " LIMIT $3 FOR UPDATE OF r SKIP LOCKED)"
        )
    };
}

pub const PRUNE_CALLBACKS: &str = prune_oldest!("callbacks", "received_at");
pub const PRUNE_AUDIT: &str = prune_oldest!("audit", "at");

/// Not the order: only whom it was for. `$1` a test's now, `$2` age, `$3` how many.
pub const ERASE_BUYERS: &str = concat!(
    "UPDATE orders SET buyer = NULL WHERE id IN (SELECT o.id FROM orders o, (SELECT ",
    now!("$1"),
    " - $2 AS oldest OFFSET 0) AS clock WHERE o.buyer IS NOT NULL AND o.updated_at < oldest \
     ORDER BY o.updated_at LIMIT $3 FOR UPDATE OF o SKIP LOCKED)"
);

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
