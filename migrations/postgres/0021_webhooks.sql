-- Where shops want to be told. Who holds an endpoint's lease brings its deliveries.
CREATE TABLE webhook_endpoints (
    id          UUID   NOT NULL PRIMARY KEY,
    owner       TEXT   NOT NULL,
    -- Of whose orders it is told; '' of everybody's.
    customer    TEXT   NOT NULL,
    url         TEXT   NOT NULL,
    -- Of what it is told; [] of everything.
    event_types JSONB  NOT NULL,
    description TEXT   NOT NULL,
    -- Why nothing is sent to it.
    disabled    TEXT,
    keys        JSON   NOT NULL,
    -- Only events after this position are told.
    since       BIGINT NOT NULL,
    -- When something is to be sent to it; NULL while nothing is.
    due_at      BIGINT,
    lease_token UUID,
    lease_until BIGINT,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);

CREATE INDEX webhook_endpoints_of_owner ON webhook_endpoints (owner, created_at, id);
CREATE INDEX webhook_endpoints_of_customer ON webhook_endpoints (customer) WHERE disabled IS NULL;
CREATE INDEX webhook_endpoints_due ON webhook_endpoints (due_at) WHERE disabled IS NULL AND due_at IS NOT NULL;

-- An event on its way to an endpoint. Its body is made from the event at each attempt.
CREATE TABLE webhook_deliveries (
    id           BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    endpoint_id  UUID    NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    order_id     UUID    NOT NULL,
    sequence     BIGINT  NOT NULL,
    kind         TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts     INTEGER NOT NULL CHECK (attempts >= 0),
    due_at       BIGINT  NOT NULL,
    created_at   BIGINT  NOT NULL,
    updated_at   BIGINT  NOT NULL,
    last_attempt JSON
);

-- Each event once for each endpoint.
CREATE UNIQUE INDEX webhook_deliveries_once ON webhook_deliveries (endpoint_id, order_id, sequence);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_newest ON webhook_deliveries (endpoint_id, id);
CREATE INDEX webhook_deliveries_oldest ON webhook_deliveries (updated_at);

-- How far events have become deliveries.
CREATE TABLE webhook_cursor (
    id       INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    position BIGINT  NOT NULL
);
INSERT INTO webhook_cursor (id, position) VALUES (1, 0);
