-- What readiness writes to prove that writes last, and how far this database's time has come.
CREATE TABLE write_probe (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    at INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO write_probe (id) VALUES (1);
