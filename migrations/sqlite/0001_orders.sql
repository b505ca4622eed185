-- The aggregate. Times are whole microseconds since the Unix epoch, UTC; money is whole minor units.
CREATE TABLE orders (
    -- UUID version 7: new rows go to the end of the tree.
    id          BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    customer_id TEXT    NOT NULL,
    -- The only words that the state machine knows.
    status      TEXT    NOT NULL CONSTRAINT orders_status CHECK (status IN
        ('new', 'registering', 'awaiting_payment', 'paid', 'payment_failed', 'cancelled', 'refunded')),
    -- Always written and read as a whole, never searched: one row instead of up to a hundred.
    items       TEXT    NOT NULL CONSTRAINT orders_items CHECK (json_valid(items)),
    -- An order for nothing cannot be paid.
    total       INTEGER NOT NULL CONSTRAINT orders_total CHECK (total > 0),
    currency    TEXT    NOT NULL CONSTRAINT orders_currency CHECK (length(currency) = 3),
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    -- Grows by one with every change of the dossier: the ETag.
    version     INTEGER NOT NULL CONSTRAINT orders_version CHECK (version > 0)
) STRICT, WITHOUT ROWID;

-- Lists are newest first; SQLite reads an index backwards at the same cost.
CREATE INDEX orders_newest ON orders (created_at, id);
CREATE INDEX orders_newest_of_customer ON orders (customer_id, created_at, id);
CREATE INDEX orders_newest_of_status ON orders (status, created_at, id);
