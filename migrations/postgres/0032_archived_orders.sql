-- What is left of an order that is kept no longer: its money, and nothing of a person.
CREATE TABLE archived_orders (
    id          UUID   NOT NULL PRIMARY KEY,
    archived_at BIGINT NOT NULL,
    record      JSON   NOT NULL
);
