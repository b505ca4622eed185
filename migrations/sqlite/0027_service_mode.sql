-- What the service as a whole may do, by operators' word. Only ever appended to: the newest row is in force until its time
-- is over; with none of those the service does everything.
CREATE TABLE service_modes (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    mode    TEXT    NOT NULL,
    until   INTEGER,
    reason  TEXT    NOT NULL,
    by_name TEXT    NOT NULL
) STRICT;
