-- Polls that bring nothing are many, and nobody waits for them: whatever somebody waits for (a registration,
-- a refund, news that a callback told of) is taken first, however long the polls have been due.
ALTER TABLE tasks ADD COLUMN routine INTEGER GENERATED ALWAYS AS
    (kind = 'sync_payment' AND reason IS 'retry') VIRTUAL;

DROP INDEX tasks_due;

-- Claiming walks from the longest due, whether it was queued or its lease was lost: twice, first past the
-- polls.
CREATE INDEX tasks_due ON tasks (lane, routine, due_at) WHERE state IN ('queued', 'running');
