-- The aggregate. Times are whole microseconds since the Unix epoch, UTC; money is whole minor units.
CREATE TABLE orders (
    -- UUID version 7: new rows go to the end of the index.
    id          UUID    NOT NULL PRIMARY KEY,
    customer_id TEXT    NOT NULL,
    -- The only words that the state machine knows.
    status      TEXT    NOT NULL CONSTRAINT orders_status CHECK (status IN
        ('new', 'registering', 'awaiting_payment', 'paid', 'payment_failed', 'cancelled', 'refunded')),
    -- Always written and read as a whole, never searched: one row instead of up to a hundred.
    items       JSON    NOT NULL,
    -- An order for nothing cannot be paid.
    total       BIGINT  NOT NULL CONSTRAINT orders_total CHECK (total > 0),
    currency    TEXT    NOT NULL CONSTRAINT orders_currency CHECK (length(currency) = 3),
    created_at  BIGINT  NOT NULL,
    updated_at  BIGINT  NOT NULL,
    -- Grows by one with every change of the dossier: the ETag.
    version     BIGINT  NOT NULL CONSTRAINT orders_version CHECK (version > 0),
    -- Random, new with every change: after a lost COMMIT it tells whether that change is here.
    last_change UUID
);

-- Lists are newest first; PostgreSQL reads an index backwards at the same cost.
CREATE INDEX orders_newest ON orders (created_at, id);
CREATE INDEX orders_newest_of_customer ON orders (customer_id, created_at, id);
CREATE INDEX orders_newest_of_status ON orders (status, created_at, id);
