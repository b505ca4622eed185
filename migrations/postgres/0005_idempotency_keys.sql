-- The replies that are given again for the same key.
CREATE TABLE idempotency_keys (
    owner       TEXT    NOT NULL,
    route       TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    -- SHA-256 over what was asked: the same key with another request is an error.
    fingerprint BYTEA   NOT NULL CONSTRAINT idempotency_keys_fingerprint CHECK (length(fingerprint) = 32),
    -- Nothing that a repeat could turn into a success is kept.
    status      BIGINT  NOT NULL CONSTRAINT idempotency_keys_status CHECK (status BETWEEN 200 AND 499 AND status <> 429),
    body        BYTEA   NOT NULL,
    created_at  BIGINT  NOT NULL,
    -- One key, one effect: the second of two concurrent requests fails here.
    PRIMARY KEY (owner, route, key)
);

CREATE INDEX idempotency_keys_oldest ON idempotency_keys (created_at);
