-- One row for each call that could have made an order payable at a provider, committed before the call.
CREATE TABLE registrations (
    order_id       BLOB    NOT NULL REFERENCES orders (id),
    provider       TEXT    NOT NULL,
    sequence       INTEGER NOT NULL CONSTRAINT registrations_sequence CHECK (sequence BETWEEN 1 AND 99),
    -- The order's number at the provider.
    number         TEXT    NOT NULL CONSTRAINT registrations_number CHECK (length(number) <= 32),
    amount         INTEGER NOT NULL CONSTRAINT registrations_amount CHECK (amount > 0),
    refunded       INTEGER NOT NULL CONSTRAINT registrations_refunded CHECK (refunded >= 0),
    currency       TEXT    NOT NULL,
    state          TEXT    NOT NULL CONSTRAINT registrations_state CHECK (state IN
        ('intent', 'unknown', 'live', 'paid', 'dead', 'absent', 'surplus')),
    ending         TEXT,
    external_id    TEXT,
    form_url       TEXT,
    sent_at        INTEGER,
    not_found      INTEGER NOT NULL,
    cancel_sent_at INTEGER,
    hinted         INTEGER NOT NULL CONSTRAINT registrations_hinted CHECK (hinted IN (0, 1)),
    registered_at  INTEGER,
    paid_at        INTEGER,
    expires_at     INTEGER,
    evidence       TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    PRIMARY KEY (order_id, provider, sequence)
) STRICT, WITHOUT ROWID;

-- Never twice: of the registrations that may be alive, an order has one. No retry, no failover, no
-- second instance and no mistake of a worker can pass this.
CREATE UNIQUE INDEX registrations_one_alive ON registrations (order_id)
    WHERE state IN ('intent', 'unknown', 'live', 'paid');

-- A number never names two things, and callbacks find their order by it.
CREATE UNIQUE INDEX registrations_one_number ON registrations (provider, number);
