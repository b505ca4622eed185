-- What readiness writes to prove that writes last: not read-only, not full, not waiting for a standby.
CREATE TABLE write_probe (
    id integer NOT NULL PRIMARY KEY CHECK (id = 1),
    at bigint  NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

INSERT INTO write_probe (id) VALUES (1);

-- A task is written several times in its short life: room for the next version beside it, and old
-- versions taken away long before a fifth of a large table is dead.
ALTER TABLE tasks SET (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.02
);
