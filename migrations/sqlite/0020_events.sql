-- What a shop may care about, appended by the transaction that made it so. `position` is the order of commits: there is one
-- writer. `snapshot` is what of the order changes; what was bought is the order's own row.
CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    order_id BLOB    NOT NULL REFERENCES orders (id),
    sequence INTEGER NOT NULL CHECK (sequence > 0),
    kind     TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    snapshot TEXT CHECK (snapshot IS NULL OR json_valid(snapshot))
) STRICT;
CREATE UNIQUE INDEX events_of_order ON events (order_id, sequence);
