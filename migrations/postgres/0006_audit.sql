-- What operators did by hand. Only ever appended to.
CREATE TABLE audit (
    id       BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       BIGINT  NOT NULL,
    action   TEXT    NOT NULL,
    order_id UUID    NOT NULL,
    task_id  BIGINT,
    -- Nothing is done by hand without a reason.
    reason   TEXT    NOT NULL
);
