-- The inbox: what providers told us, kept for audit. Callbacks are hints; nothing is decided from this table.
CREATE TABLE callbacks (
    id          INTEGER PRIMARY KEY,
    provider    TEXT    NOT NULL,
    -- As the provider told it; known or not.
    number      TEXT    NOT NULL,
    event_id    TEXT,
    kind        TEXT    NOT NULL,
    signed      INTEGER NOT NULL CONSTRAINT callbacks_signed CHECK (signed IN (0, 1)),
    received_at INTEGER NOT NULL,
    -- A repeated delivery is stored once. Without an event id there is nothing to compare by.
    CONSTRAINT callbacks_one_event UNIQUE (provider, event_id)
) STRICT;
