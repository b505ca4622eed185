-- The length of the queue is kept, not counted: whoever joins reads a number, however many wait. By
-- triggers, so that it is true whatever statement of whatever version moves a task.

-- Waits for a provider, also while it is being tried again.
ALTER TABLE tasks ADD COLUMN waits INTEGER GENERATED ALWAYS AS (
    kind = 'register_payment' AND CASE state
        WHEN 'queued' THEN reason IS NOT 'outcome_unknown'
        WHEN 'running' THEN reason IS NOT NULL AND reason <> 'outcome_unknown'
        ELSE false
    END) VIRTUAL;

CREATE TABLE queue_length (
    only     INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    waiting  INTEGER NOT NULL
) STRICT;

INSERT INTO queue_length (only, waiting) SELECT 1, count(*) FROM tasks WHERE waits;

CREATE TRIGGER tasks_inserted AFTER INSERT ON tasks WHEN NEW.waits
BEGIN
    UPDATE queue_length SET waiting = waiting + 1;
END;

CREATE TRIGGER tasks_moved AFTER UPDATE OF kind, state, reason ON tasks WHEN OLD.waits <> NEW.waits
BEGIN
    UPDATE queue_length SET waiting = waiting + NEW.waits - OLD.waits;
END;

CREATE TRIGGER tasks_deleted AFTER DELETE ON tasks WHEN OLD.waits
BEGIN
    UPDATE queue_length SET waiting = waiting - 1;
END;

-- What it was counted by.
DROP INDEX tasks_waiting;
