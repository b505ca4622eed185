-- Polls that nobody expects anything of are many. Whatever somebody waits for (a registration, a refund, news
-- that a callback told of) is taken before them, however long they have been due.
ALTER TABLE tasks ADD COLUMN routine BOOLEAN GENERATED ALWAYS AS
    (kind = 'sync_payment' AND reason IS NOT DISTINCT FROM 'retry') STORED;

DROP INDEX tasks_due;

-- Claiming walks from the longest due, whether it was queued or its lease was lost: twice, first past the
-- polls.
CREATE INDEX tasks_due ON tasks (lane, routine, due_at) WHERE state IN ('queued', 'running');
