-- Work that outlives the request that asked for it.
CREATE TABLE tasks (
    -- Random, below 2^53: exact in every JSON client, and not guessable.
    id               BIGINT  NOT NULL PRIMARY KEY CONSTRAINT tasks_id CHECK (id BETWEEN 1 AND 9007199254740991),
    order_id         UUID    NOT NULL REFERENCES orders (id),
    -- No list of kinds: a newer version may write more, and this one leaves those alone.
    kind             TEXT    NOT NULL,
    state            TEXT    NOT NULL CONSTRAINT tasks_state CHECK (state IN
        ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'review')),
    reason           TEXT,
    run_at           BIGINT  NOT NULL,
    -- The provider whose capacity it needs next, or 'any'.
    lane             TEXT    NOT NULL,
    attempts         BIGINT  NOT NULL CONSTRAINT tasks_attempts CHECK (attempts >= 0),
    lost_leases      BIGINT  NOT NULL CONSTRAINT tasks_lost_leases CHECK (lost_leases >= 0),
    deadline         BIGINT  NOT NULL,
    lease_owner      TEXT,
    lease_token      UUID,
    lease_until      BIGINT,
    result_provider  TEXT,
    result_sequence  BIGINT,
    error            TEXT,
    -- What a refund is to give back and how far that is; always read as a whole.
    refund           JSON,
    trace            TEXT,
    return_url       TEXT,
    created_at       BIGINT  NOT NULL,
    updated_at       BIGINT  NOT NULL,
    version          BIGINT  NOT NULL CONSTRAINT tasks_version CHECK (version > 0),
    -- When somebody may take it: in its own time, or when its holder's lease is over.
    due_at           BIGINT  GENERATED ALWAYS AS
        (CASE state WHEN 'queued' THEN run_at WHEN 'running' THEN lease_until END) STORED,
    -- Running means that somebody holds the lease, and nothing else does.
    CONSTRAINT tasks_lease CHECK (
        (state = 'running') = (lease_token IS NOT NULL)
        AND (lease_token IS NULL) = (lease_owner IS NULL)
        AND (lease_token IS NULL) = (lease_until IS NULL))
);

-- One unfinished task of a kind for each order: a second confirm finds the first one's task.
CREATE UNIQUE INDEX tasks_one_unfinished ON tasks (order_id, kind)
    WHERE state IN ('queued', 'running');

-- Claiming walks from the longest due, whether it was queued or its lease was lost.
CREATE INDEX tasks_due ON tasks (lane, due_at) WHERE state IN ('queued', 'running');

-- The length of the queue, which is counted whenever something joins it.
CREATE INDEX tasks_waiting ON tasks (order_id)
    WHERE state = 'queued' AND kind = 'register_payment' AND reason IS DISTINCT FROM 'outcome_unknown';

-- The operator's list, pruning, and the few that are running.
CREATE INDEX tasks_newest_of_state ON tasks (state, created_at, id);
CREATE INDEX tasks_newest ON tasks (created_at, id);
