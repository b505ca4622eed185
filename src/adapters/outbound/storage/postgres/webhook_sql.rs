//! What is asked of the tables of webhooks. Where a statement needs the time it is the server's, unless a test gives
//! its own.

macro_rules! now {
    ($given:literal) => {
        concat!(
            "coalesce(",
            $given,
            "::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
        )
    };
}

macro_rules! clock {
    ($given:literal) => {
        concat!("(SELECT ", now!($given), " AS now OFFSET 0) AS clock")
    };
}

macro_rules! endpoint_json {
    () => {
        "json_build_object('id', e.id, 'owner', e.owner, 'customer', e.customer, 'url', e.url, \
         'event_types', e.event_types, 'description', e.description, 'disabled', e.disabled, 'keys', e.keys, \
         'created_at', e.created_at, 'updated_at', e.updated_at)::text"
    };
}

macro_rules! delivery_json {
    () => {
        "json_build_object('id', d.id, 'order_id', d.order_id, 'sequence', d.sequence, 'kind', d.kind, \
         'state', d.state, 'attempts', d.attempts, 'due_at', d.due_at, 'created_at', d.created_at, \
         'last_attempt', d.last_attempt)::text"
    };
}

/// What has a position already; what gets one later comes later.
macro_rules! last_position {
    () => {
        "(SELECT last FROM event_positions WHERE id = 1)"
    };
}

/// One owner's endpoints are added one at a time, so that their number holds. `$1` owner.
pub const LOCK_OWNER: &str =
    "SELECT pg_advisory_xact_lock(hashtextextended('webhook_endpoints ' || $1, 0))::text";

/// `$1` id, `$2` owner, `$3` customer, `$4` url, `$5` types, `$6` description, `$7` keys, `$8` now, `$9` at most so
/// many of the owner's. It is told of what happens from now on.
pub const ADD: &str = concat!(
    "INSERT INTO webhook_endpoints (id, owner, customer, url, event_types, description, keys, since, created_at, \
     updated_at) SELECT $1::uuid, $2, $3, $4, $5::jsonb, $6, $7::json, ",
    last_position!(),
    ", clock.now, clock.now FROM ",
    clock!("$8"),
    " WHERE (SELECT count(*) FROM webhook_endpoints WHERE owner = $2) < $9"
);

/// `$1` owner, `$2` the only one, if one is meant.
pub const ENDPOINTS: &str = concat!(
    "SELECT ",
    endpoint_json!(),
    " FROM webhook_endpoints e WHERE e.owner = $1 AND ($2::uuid IS NULL OR e.id = $2::uuid) ORDER BY e.created_at, e.id"
);

/// `$1` owner, `$2` id, `$3` url, `$4` types, `$5` description, `$6` whether `disabled` changes, `$7` to what,
/// `$8` keys, `$9` now. One that is enabled goes on at once with what waits for it, and with what happens from now on.
pub const CHANGE: &str = concat!(
    "UPDATE webhook_endpoints AS e SET url = coalesce($3, e.url), event_types = coalesce($4::jsonb, e.event_types), \
     description = coalesce($5, e.description), keys = coalesce($8::json, e.keys), updated_at = clock.now, \
     since = CASE WHEN $6 AND $7::text IS NULL AND e.disabled IS NOT NULL THEN ",
    last_position!(),
    " ELSE e.since END, \
     due_at = CASE WHEN $6 AND $7::text IS NULL THEN clock.now ELSE e.due_at END, \
     disabled = CASE WHEN $6 THEN $7 ELSE e.disabled END FROM ",
    clock!("$9"),
    " WHERE e.owner = $1 AND e.id = $2::uuid"
);

/// `$1` owner, `$2` id.
pub const REMOVE: &str = "DELETE FROM webhook_endpoints WHERE owner = $1 AND id = $2::uuid";

/// `$1` endpoint, `$2` the only state, `$3` only older ones than this, `$4` how many.
pub const DELIVERIES: &str = concat!(
    "SELECT ",
    delivery_json!(),
    " FROM webhook_deliveries d WHERE d.endpoint_id = $1::uuid AND ($2::text IS NULL OR d.state = $2) \
     AND ($3::bigint IS NULL OR d.id < $3) ORDER BY d.id DESC LIMIT $4"
);

/// `$1` endpoint, `$2` order, `$3` sequence, `$4` now.
pub const REDELIVER_EVENT: &str = concat!(
    "INSERT INTO webhook_deliveries (endpoint_id, order_id, sequence, kind, state, attempts, due_at, created_at, \
     updated_at) SELECT e.id, v.order_id, v.sequence, v.kind, 'pending', 0, clock.now, clock.now, clock.now \
     FROM webhook_endpoints e CROSS JOIN events v JOIN orders o ON o.id = v.order_id CROSS JOIN ",
    clock!("$4"),
    " WHERE e.id = $1::uuid AND v.order_id = $2::uuid AND v.sequence = $3 \
     AND (e.customer = '' OR e.customer = o.customer_id) \
     ON CONFLICT (endpoint_id, order_id, sequence) DO UPDATE SET state = 'pending', attempts = 0, \
     due_at = excluded.due_at, created_at = excluded.created_at, updated_at = excluded.updated_at"
);

/// `$1` endpoint, `$2` since when, `$3` now, `$4` how many.
pub const REDELIVER_FAILED: &str = concat!(
    "UPDATE webhook_deliveries SET state = 'pending', attempts = 0, due_at = clock.now, created_at = clock.now, \
     updated_at = clock.now FROM ",
    clock!("$3"),
    " WHERE id IN (SELECT id FROM webhook_deliveries WHERE endpoint_id = $1::uuid AND state = 'failed' \
     AND updated_at >= $2 ORDER BY id LIMIT $4)"
);

/// `$1` endpoint, `$2` since when, `$3` now, `$4` how many: whatever of it has no delivery, or is not on its way.
pub const REDELIVER_ALL: &str = concat!(
    "INSERT INTO webhook_deliveries (endpoint_id, order_id, sequence, kind, state, attempts, due_at, created_at, \
     updated_at) SELECT e.id, v.order_id, v.sequence, v.kind, 'pending', 0, clock.now, clock.now, clock.now \
     FROM webhook_endpoints e CROSS JOIN events v JOIN orders o ON o.id = v.order_id CROSS JOIN ",
    clock!("$3"),
    " WHERE e.id = $1::uuid AND v.at >= $2 AND (e.customer = '' OR e.customer = o.customer_id) \
     AND (e.event_types = '[]' OR e.event_types ? v.kind) AND v.position IS NOT NULL ORDER BY v.position LIMIT $4 \
     ON CONFLICT (endpoint_id, order_id, sequence) DO UPDATE SET state = 'pending', attempts = 0, \
     due_at = excluded.due_at, created_at = excluded.created_at, updated_at = excluded.updated_at \
     WHERE webhook_deliveries.state <> 'pending'"
);

/// `$1` endpoints, `$2` now: something may be due.
pub const DUE_NOW: &str = concat!(
    "UPDATE webhook_endpoints SET due_at = least(due_at, clock.now) FROM ",
    clock!("$2"),
    " WHERE id = ANY($1::uuid[])"
);

/// Where the cursor stands, for one at a time: whoever finds it taken leaves the work to the other.
pub const CURSOR: &str = "SELECT position FROM webhook_cursor WHERE id = 1 FOR UPDATE SKIP LOCKED";

/// From where anybody wants to be told: NULL where nobody does.
pub const WANTED: &str = "SELECT min(since) FROM webhook_endpoints WHERE disabled IS NULL";

/// `$1` after which position, `$2` how many: the last of them, and their number.
pub const NEXT_EVENTS: &str = "SELECT coalesce(max(position), $1), count(*) FROM \
    (SELECT position FROM events WHERE position > $1 ORDER BY position LIMIT $2) AS next";

/// `$1` after which position, `$2` up to which, `$3` now. Answers whose they are.
pub const FAN_OUT: &str = concat!(
    "INSERT INTO webhook_deliveries (endpoint_id, order_id, sequence, kind, state, attempts, due_at, created_at, \
     updated_at) SELECT e.id, v.order_id, v.sequence, v.kind, 'pending', 0, clock.now, clock.now, clock.now \
     FROM events v JOIN orders o ON o.id = v.order_id \
     JOIN webhook_endpoints e ON e.disabled IS NULL AND e.customer IN ('', coalesce(o.customer_id, '')) CROSS JOIN ",
    clock!("$3"),
    " WHERE v.position > $1 AND v.position <= $2 AND v.position > e.since \
     AND (e.event_types = '[]' OR e.event_types ? v.kind) \
     ORDER BY v.position ON CONFLICT DO NOTHING RETURNING endpoint_id::text"
);

/// `$1` the new position.
pub const MOVE_CURSOR: &str = "UPDATE webhook_cursor SET position = $1 WHERE id = 1";

/// `$1` token, `$2` for how long, `$3` now, `$4` how many.
pub const CLAIM: &str = concat!(
    "UPDATE webhook_endpoints AS e SET lease_token = $1::uuid, lease_until = clock.now + $2 FROM ",
    clock!("$3"),
    " WHERE e.id IN (SELECT f.id FROM webhook_endpoints f WHERE f.disabled IS NULL AND f.due_at <= clock.now \
     AND (f.lease_until IS NULL OR f.lease_until <= clock.now) ORDER BY f.due_at LIMIT $4 FOR UPDATE SKIP LOCKED) \
     RETURNING ",
    endpoint_json!()
);

/// `$1` endpoint, `$2` now, `$3` how many. An order's later events wait for the earlier ones.
pub const DUE: &str = concat!(
    "SELECT ",
    delivery_json!(),
    " FROM webhook_deliveries d CROSS JOIN ",
    clock!("$2"),
    " WHERE d.endpoint_id = $1::uuid AND d.state = 'pending' AND d.due_at <= clock.now \
     AND NOT EXISTS (SELECT 1 FROM webhook_deliveries b WHERE b.endpoint_id = d.endpoint_id \
     AND b.order_id = d.order_id AND b.sequence < d.sequence AND b.state = 'pending') \
     ORDER BY d.due_at, d.id LIMIT $3"
);

/// `$1` endpoint, `$2` token, `$3` delivery, `$4` state, `$5` attempts, `$6` due in, `$7` now, `$8` attempt.
pub const RECORD: &str = concat!(
    "UPDATE webhook_deliveries SET state = $4, attempts = $5::integer, due_at = clock.now + $6, updated_at = clock.now, \
     last_attempt = coalesce($8::json, last_attempt) FROM ",
    clock!("$7"),
    " WHERE id = $3 AND endpoint_id = (SELECT e.id FROM webhook_endpoints e WHERE e.id = $1::uuid \
     AND e.lease_token = $2::uuid)"
);

/// `$1` endpoint, `$2` token, `$3` not due within, `$4` why it is disabled, if it is, `$5` now.
pub const RELEASE: &str = concat!(
    "UPDATE webhook_endpoints AS e SET lease_token = NULL, lease_until = NULL, disabled = coalesce($4, e.disabled), \
     due_at = (SELECT greatest(min(d.due_at), clock.now + $3) FROM webhook_deliveries d WHERE d.endpoint_id = e.id \
     AND d.state = 'pending' HAVING count(*) > 0) FROM ",
    clock!("$5"),
    " WHERE e.id = $1::uuid AND e.lease_token = $2::uuid"
);

pub const STATS: &str = "SELECT json_build_object('enabled', \
    (SELECT count(*) FROM webhook_endpoints WHERE disabled IS NULL), \
    'disabled', (SELECT count(*) FROM webhook_endpoints WHERE disabled IS NOT NULL), \
    'pending', coalesce(sum(w.number), 0)::bigint, 'oldest', min(w.oldest))::text FROM webhook_endpoints e \
    CROSS JOIN LATERAL (SELECT count(*) AS number, min(d.created_at) AS oldest FROM webhook_deliveries d \
    WHERE d.endpoint_id = e.id AND d.state = 'pending') AS w WHERE e.disabled IS NULL AND e.due_at IS NOT NULL";

/// `$1` now, `$2` age, `$3` how many.
pub const PRUNE: &str = concat!(
    "DELETE FROM webhook_deliveries WHERE id IN (SELECT d.id FROM webhook_deliveries d CROSS JOIN ",
    clock!("$1"),
    " WHERE d.updated_at < clock.now - $2 ORDER BY d.updated_at LIMIT $3 FOR UPDATE OF d SKIP LOCKED)"
);
