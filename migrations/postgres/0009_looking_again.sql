-- What is known of a registration beyond the first answer about it. Nothing must be there: an instance of an earlier
-- version writes whole rows, with NULL in what it does not know.
ALTER TABLE registrations
    -- Since then it is wound down to its end, and its form is shown to nobody.
    ADD COLUMN given_up_at       BIGINT,
    -- The last news that no answer has settled yet. `hinted` says whether there is any, for earlier versions.
    ADD COLUMN sync_requested_at BIGINT,
    -- Paid although it had been given up.
    ADD COLUMN paid_late         BOOLEAN,
    ADD COLUMN ended_at          BIGINT,
    -- How often it was looked at since it was paid or over.
    ADD COLUMN looks             BIGINT,
    -- Since when the provider tells a status that nobody knows.
    ADD COLUMN strange_since     BIGINT,
    -- What the provider told when it last contradicted this row.
    ADD COLUMN contradiction     TEXT;

UPDATE registrations SET sync_requested_at = updated_at WHERE hinted;
UPDATE registrations SET given_up_at = cancel_sent_at WHERE state = 'live';
UPDATE registrations SET paid_late = true WHERE EXISTS (SELECT FROM refunds f WHERE f.origin = 'late_money'
    AND f.order_id = registrations.order_id AND f.provider = registrations.provider
    AND f.sequence = registrations.sequence);
