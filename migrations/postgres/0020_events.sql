-- What a shop may care about, appended by the transaction that made it so. `position` is given after the commit, by whoever
-- looks next and under the lock of the row of `event_positions`: transactions commit in another order than they number
-- their rows, and a reader who has seen a position must have seen all before it. `snapshot` is what of the order changes;
-- what was bought is the order's own row.
CREATE TABLE events (
    id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    position BIGINT,
    order_id UUID   NOT NULL REFERENCES orders (id),
    sequence BIGINT NOT NULL CHECK (sequence > 0),
    kind     TEXT   NOT NULL,
    at       BIGINT NOT NULL,
    snapshot JSON
);
CREATE UNIQUE INDEX events_of_order ON events (order_id, sequence);
CREATE UNIQUE INDEX events_by_position ON events (position) WHERE position IS NOT NULL;
CREATE INDEX events_without_position ON events (id) WHERE position IS NULL;

CREATE TABLE event_positions (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    last BIGINT  NOT NULL
);
INSERT INTO event_positions (id, last) VALUES (1, 0);
