-- A provider's own id names one registration, as our number does.
CREATE UNIQUE INDEX registrations_one_external_id ON registrations (provider, external_id)
    WHERE external_id IS NOT NULL;

-- One unfinished task of a kind for each order, but for refunds: each registration whose money is not wanted has
-- its own, and the refunds' rows say which of them may be sent.
DROP INDEX tasks_one_unfinished;
CREATE UNIQUE INDEX tasks_one_unfinished ON tasks (order_id, kind)
    WHERE state IN ('queued', 'running') AND kind <> 'refund_payment';

-- Who closed a review, and when: the answer itself never changes.
ALTER TABLE tasks ADD COLUMN settled_by TEXT;
ALTER TABLE tasks ADD COLUMN settled_at INTEGER;

-- Who did it by hand.
ALTER TABLE audit ADD COLUMN by_name TEXT NOT NULL DEFAULT 'operator';
CREATE INDEX audit_newest ON audit (at, id);
CREATE INDEX audit_of_order ON audit (order_id, at, id);
