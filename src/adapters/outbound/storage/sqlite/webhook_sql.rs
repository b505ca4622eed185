//! What is asked of the tables of webhooks.

macro_rules! endpoint_json {
    () => {
        "json_object('id', lower(substr(hex(e.id), 1, 8) || '-' || substr(hex(e.id), 9, 4) || '-' || \
         substr(hex(e.id), 13, 4) || '-' || substr(hex(e.id), 17, 4) || '-' || substr(hex(e.id), 21)), \
         'owner', e.owner, 'customer', e.customer, 'url', e.url, 'event_types', json(e.event_types), \
         'description', e.description, 'disabled', e.disabled, 'keys', json(e.keys), \
         'created_at', e.created_at, 'updated_at', e.updated_at)"
    };
}

macro_rules! delivery_json {
    () => {
        "json_object('id', d.id, 'order_id', lower(substr(hex(d.order_id), 1, 8) || '-' || \
         substr(hex(d.order_id), 9, 4) || '-' || substr(hex(d.order_id), 13, 4) || '-' || \
         substr(hex(d.order_id), 17, 4) || '-' || substr(hex(d.order_id), 21)), \
         'sequence', d.sequence, 'kind', d.kind, 'state', d.state, 'attempts', d.attempts, 'due_at', d.due_at, \
         'created_at', d.created_at, 'last_attempt', json(d.last_attempt))"
    };
}

/// `?1` id, `?2` owner, `?3` customer, `?4` url, `?5` types, `?6` description, `?7` keys, `?8` now, `?9` at most so
/// many of the owner's. It is told of what happens from now on.
pub const ADD: &str = "INSERT INTO webhook_endpoints (id, owner, customer, url, event_types, description, keys, \
    since, created_at, updated_at) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, \
    (SELECT coalesce(max(position), 0) FROM events), ?8, ?8 \
    WHERE (SELECT count(*) FROM webhook_endpoints WHERE owner = ?2) < ?9";

/// `?1` owner, `?2` the only one, if one is meant.
pub const ENDPOINTS: &str = concat!(
    "SELECT ",
    endpoint_json!(),
    " FROM webhook_endpoints e WHERE e.owner = ?1 AND (?2 IS NULL OR e.id = ?2) ORDER BY e.created_at, e.id"
);

/// `?1` owner, `?2` id, `?3` url, `?4` types, `?5` description, `?6` whether `disabled` changes, `?7` to what,
/// `?8` keys, `?9` now. One that is enabled goes on at once with what waits for it, and with what happens from now on.
pub const CHANGE: &str = "UPDATE webhook_endpoints AS e SET url = coalesce(?3, e.url), \
    event_types = coalesce(?4, e.event_types), description = coalesce(?5, e.description), \
    keys = coalesce(?8, e.keys), updated_at = ?9, \
    since = CASE WHEN ?6 AND ?7 IS NULL AND e.disabled IS NOT NULL \
        THEN (SELECT coalesce(max(position), 0) FROM events) ELSE e.since END, \
    due_at = CASE WHEN ?6 AND ?7 IS NULL THEN ?9 ELSE e.due_at END, \
    disabled = CASE WHEN ?6 THEN ?7 ELSE e.disabled END \
    WHERE e.owner = ?1 AND e.id = ?2";

/// `?1` owner, `?2` id.
pub const REMOVE: &str = "DELETE FROM webhook_endpoints WHERE owner = ?1 AND id = ?2";

/// `?1` endpoint, `?2` the only state, `?3` only older ones than this, `?4` how many.
pub const DELIVERIES: &str = concat!(
    "SELECT ",
    delivery_json!(),
    " FROM webhook_deliveries d WHERE d.endpoint_id = ?1 AND (?2 IS NULL OR d.state = ?2) \
     AND (?3 IS NULL OR d.id < ?3) ORDER BY d.id DESC LIMIT ?4"
);

/// `?1` endpoint, `?2` order, `?3` sequence, `?4` now.
pub const REDELIVER_EVENT: &str = "INSERT INTO webhook_deliveries (endpoint_id, order_id, sequence, kind, state, \
    attempts, due_at, created_at, updated_at) SELECT e.id, v.order_id, v.sequence, v.kind, 'pending', 0, ?4, ?4, ?4 \
    FROM webhook_endpoints e, events v JOIN orders o ON o.id = v.order_id \
    WHERE e.id = ?1 AND v.order_id = ?2 AND v.sequence = ?3 \
    AND (e.customer = '' OR e.customer = o.customer_id) \
    ON CONFLICT (endpoint_id, order_id, sequence) DO UPDATE SET state = 'pending', attempts = 0, due_at = ?4, \
    created_at = ?4, updated_at = ?4";

/// `?1` endpoint, `?2` since when, `?3` now, `?4` how many.
pub const REDELIVER_FAILED: &str = "UPDATE webhook_deliveries SET state = 'pending', attempts = 0, due_at = ?3, \
    created_at = ?3, updated_at = ?3 WHERE id IN (SELECT id FROM webhook_deliveries WHERE endpoint_id = ?1 \
    AND state = 'failed' AND updated_at >= ?2 ORDER BY id LIMIT ?4)";

/// `?1` endpoint, `?2` since when, `?3` now, `?4` how many: whatever of it has no delivery, or is not on its way.
pub const REDELIVER_ALL: &str = "INSERT INTO webhook_deliveries (endpoint_id, order_id, sequence, kind, state, \
    attempts, due_at, created_at, updated_at) SELECT e.id, v.order_id, v.sequence, v.kind, 'pending', 0, ?3, ?3, ?3 \
    FROM webhook_endpoints e, events v JOIN orders o ON o.id = v.order_id \
    WHERE e.id = ?1 AND v.at >= ?2 AND (e.customer = '' OR e.customer = o.customer_id) \
    AND (e.event_types = '[]' OR v.kind IN (SELECT value FROM json_each(e.event_types))) \
    ORDER BY v.position LIMIT ?4 \
    ON CONFLICT (endpoint_id, order_id, sequence) DO UPDATE SET state = 'pending', attempts = 0, due_at = ?3, \
    created_at = ?3, updated_at = ?3 WHERE state <> 'pending'";

/// `?1` endpoint, `?2` now: something may be due.
pub const DUE_NOW: &str =
    "UPDATE webhook_endpoints SET due_at = min(coalesce(due_at, ?2), ?2) WHERE id = ?1";

/// Where the cursor stands, and from where anybody wants to be told: NULL where nobody does.
pub const CURSOR: &str = "SELECT c.position, (SELECT min(e.since) FROM webhook_endpoints e WHERE e.disabled IS NULL) \
    FROM webhook_cursor c WHERE c.id = 1";

/// `?1` after which position, `?2` how many: the last of them, and their number.
pub const NEXT_EVENTS: &str = "SELECT coalesce(max(position), ?1), count(*) FROM \
    (SELECT position FROM events WHERE position > ?1 ORDER BY position LIMIT ?2)";

/// `?1` after which position, `?2` up to which, `?3` now. Answers whose they are.
pub const FAN_OUT: &str = "INSERT INTO webhook_deliveries (endpoint_id, order_id, sequence, kind, state, attempts, \
    due_at, created_at, updated_at) SELECT e.id, v.order_id, v.sequence, v.kind, 'pending', 0, ?3, ?3, ?3 \
    FROM events v JOIN orders o ON o.id = v.order_id \
    JOIN webhook_endpoints e ON e.disabled IS NULL AND e.customer IN ('', coalesce(o.customer_id, '')) \
    WHERE v.position > ?1 AND v.position <= ?2 AND v.position > e.since \
    AND (e.event_types = '[]' OR v.kind IN (SELECT value FROM json_each(e.event_types))) \
    ORDER BY v.position ON CONFLICT DO NOTHING RETURNING endpoint_id";

/// `?1` the new position.
pub const MOVE_CURSOR: &str = "UPDATE webhook_cursor SET position = ?1 WHERE id = 1";

pub const ANY_ENABLED: &str = "SELECT 'yes' FROM webhook_endpoints WHERE disabled IS NULL LIMIT 1";

/// `?1` now.
pub const ANY_DUE: &str =
    "SELECT 'yes' FROM webhook_endpoints WHERE disabled IS NULL AND due_at <= ?1 LIMIT 1";

/// `?1` token, `?2` until when, `?3` now, `?4` how many.
pub const CLAIM: &str = "UPDATE webhook_endpoints SET lease_token = ?1, lease_until = ?2 WHERE id IN \
    (SELECT id FROM webhook_endpoints WHERE disabled IS NULL AND due_at <= ?3 \
    AND (lease_until IS NULL OR lease_until <= ?3) ORDER BY due_at LIMIT ?4)";

/// `?1` token.
pub const CLAIMED: &str =
    concat!("SELECT ", endpoint_json!(), " FROM webhook_endpoints e WHERE e.lease_token = ?1");

/// `?1` endpoint, `?2` now, `?3` how many. An order's later events wait for the earlier ones.
pub const DUE: &str = concat!(
    "SELECT ",
    delivery_json!(),
    " FROM webhook_deliveries d WHERE d.endpoint_id = ?1 AND d.state = 'pending' AND d.due_at <= ?2 \
     AND NOT EXISTS (SELECT 1 FROM webhook_deliveries b WHERE b.endpoint_id = d.endpoint_id \
     AND b.order_id = d.order_id AND b.sequence < d.sequence AND b.state = 'pending') \
     ORDER BY d.due_at, d.id LIMIT ?3"
);

/// `?1` endpoint, `?2` token, `?3` delivery, `?4` state, `?5` attempts, `?6` due, `?7` now, `?8` attempt.
pub const RECORD: &str = "UPDATE webhook_deliveries SET state = ?4, attempts = ?5, due_at = ?6, updated_at = ?7, \
    last_attempt = coalesce(?8, last_attempt) WHERE id = ?3 AND endpoint_id = \
    (SELECT id FROM webhook_endpoints WHERE id = ?1 AND lease_token = ?2)";

/// `?1` endpoint, `?2` token, `?3` not due before, `?4` why it is disabled, if it is.
pub const RELEASE: &str = "UPDATE webhook_endpoints AS e SET lease_token = NULL, lease_until = NULL, \
    disabled = coalesce(?4, e.disabled), due_at = max(?3, (SELECT min(d.due_at) FROM webhook_deliveries d \
    WHERE d.endpoint_id = e.id AND d.state = 'pending')) WHERE e.id = ?1 AND e.lease_token = ?2";

pub const STATS: &str = "SELECT json_object('enabled', (SELECT count(*) FROM webhook_endpoints WHERE disabled IS NULL), \
    'disabled', (SELECT count(*) FROM webhook_endpoints WHERE disabled IS NOT NULL), \
    'pending', coalesce(sum(w.number), 0), 'oldest', min(w.oldest)) FROM (SELECT \
    (SELECT count(*) FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.state = 'pending') AS number, \
    (SELECT min(d.created_at) FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.state = 'pending') AS oldest \
    FROM webhook_endpoints e WHERE e.disabled IS NULL AND e.due_at IS NOT NULL) AS w";

/// `?1` the moment before which nothing has happened to them, `?2` how many.
pub const PRUNE: &str = "DELETE FROM webhook_deliveries WHERE id IN \
    (SELECT id FROM webhook_deliveries WHERE updated_at < ?1 ORDER BY updated_at LIMIT ?2)";
