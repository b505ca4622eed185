-- What the service as a whole may do, by operators' word. Only ever appended to: the newest row is in force until its time
-- is over; with none of those the service does everything.
CREATE TABLE service_modes (
    id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      BIGINT NOT NULL,
    mode    TEXT   NOT NULL,
    until   BIGINT,
    reason  TEXT   NOT NULL,
    by_name TEXT   NOT NULL
);
