-- The replies that are given again for the same key.
CREATE TABLE idempotency_keys (
    owner       TEXT    NOT NULL,
    route       TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    -- SHA-256 over what was asked: the same key with another request is an error.
    fingerprint BLOB    NOT NULL CONSTRAINT idempotency_keys_fingerprint CHECK (length(fingerprint) = 32),
    -- Nothing that a repeat could turn into a success is kept.
    status      INTEGER NOT NULL CONSTRAINT idempotency_keys_status CHECK (status BETWEEN 200 AND 499 AND status <> 429),
    body        BLOB    NOT NULL,
    created_at  INTEGER NOT NULL,
    -- One key, one effect: the second of two concurrent requests fails here.
    PRIMARY KEY (owner, route, key)
) STRICT;

CREATE INDEX idempotency_keys_oldest ON idempotency_keys (created_at);
