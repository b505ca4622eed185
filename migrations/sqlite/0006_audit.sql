-- What operators did by hand. Only ever appended to.
CREATE TABLE audit (
    id       INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    action   TEXT    NOT NULL,
    order_id BLOB    NOT NULL,
    task_id  INTEGER,
    -- Nothing is done by hand without a reason.
    reason   TEXT    NOT NULL
) STRICT;
