-- Where shops want to be told. Who holds an endpoint's lease brings its deliveries.
CREATE TABLE webhook_endpoints (
    id          BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    owner       TEXT    NOT NULL,
    -- Of whose orders it is told; '' of everybody's.
    customer    TEXT    NOT NULL,
    url         TEXT    NOT NULL,
    -- Of what it is told; [] of everything.
    event_types TEXT    NOT NULL CHECK (json_valid(event_types)),
    description TEXT    NOT NULL,
    -- Why nothing is sent to it.
    disabled    TEXT,
    keys        TEXT    NOT NULL CHECK (json_valid(keys)),
    -- Only events after this position are told.
    since       INTEGER NOT NULL,
    -- When something is to be sent to it; NULL while nothing is.
    due_at      INTEGER,
    lease_token BLOB    CHECK (length(lease_token) = 16),
    lease_until INTEGER,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_endpoints_of_owner ON webhook_endpoints (owner, created_at, id);
CREATE INDEX webhook_endpoints_of_customer ON webhook_endpoints (customer) WHERE disabled IS NULL;
CREATE INDEX webhook_endpoints_due ON webhook_endpoints (due_at) WHERE disabled IS NULL AND due_at IS NOT NULL;

-- An event on its way to an endpoint. Its body is made from the event at each attempt.
CREATE TABLE webhook_deliveries (
    id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    endpoint_id  BLOB    NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    order_id     BLOB    NOT NULL,
    sequence     INTEGER NOT NULL,
    kind         TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts     INTEGER NOT NULL CHECK (attempts >= 0),
    due_at       INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    last_attempt TEXT    CHECK (last_attempt IS NULL OR json_valid(last_attempt))
) STRICT;

-- Each event once for each endpoint.
CREATE UNIQUE INDEX webhook_deliveries_once ON webhook_deliveries (endpoint_id, order_id, sequence);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_newest ON webhook_deliveries (endpoint_id, id);
CREATE INDEX webhook_deliveries_oldest ON webhook_deliveries (updated_at);

-- How far events have become deliveries.
CREATE TABLE webhook_cursor (
    id       INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    position INTEGER NOT NULL
) STRICT;
INSERT INTO webhook_cursor (id, position) VALUES (1, 0);
