-- What is left of an order that is kept no longer: its money, and nothing of a person.
CREATE TABLE archived_orders (
    id          BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    archived_at INTEGER NOT NULL,
    record      TEXT    NOT NULL CHECK (json_valid(record))
) STRICT, WITHOUT ROWID;
