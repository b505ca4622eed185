-- What is known of a registration beyond the first answer about it.

-- Since then it is wound down to its end, and its form is shown to nobody.
ALTER TABLE registrations ADD COLUMN given_up_at INTEGER;
-- The last news that no answer has settled yet. `hinted` says whether there is any, for earlier versions.
ALTER TABLE registrations ADD COLUMN sync_requested_at INTEGER;
-- Paid although it had been given up.
ALTER TABLE registrations ADD COLUMN paid_late INTEGER
    CONSTRAINT registrations_paid_late CHECK (paid_late IN (0, 1));
ALTER TABLE registrations ADD COLUMN ended_at INTEGER;
-- How often it was looked at since it was paid or over.
ALTER TABLE registrations ADD COLUMN looks INTEGER;
-- Since when the provider tells a status that nobody knows.
ALTER TABLE registrations ADD COLUMN strange_since INTEGER;
-- What the provider told when it last contradicted this row.
ALTER TABLE registrations ADD COLUMN contradiction TEXT;

UPDATE registrations SET sync_requested_at = updated_at WHERE hinted;
UPDATE registrations SET given_up_at = cancel_sent_at WHERE state = 'live';
UPDATE registrations SET paid_late = 1 WHERE EXISTS (SELECT 1 FROM refunds f WHERE f.origin = 'late_money'
    AND f.order_id = registrations.order_id AND f.provider = registrations.provider
    AND f.sequence = registrations.sequence);
