-- A callback that comes again and again is one row, which counts.
ALTER TABLE callbacks ADD COLUMN times INTEGER NOT NULL DEFAULT 1;
ALTER TABLE callbacks ADD COLUMN last_at INTEGER;

-- Where a provider has no event ids: one row for each word that it says of a number. Rows of an earlier version
-- have no last time, and stay as they are.
CREATE UNIQUE INDEX callbacks_one_word ON callbacks (provider, number, kind)
    WHERE event_id IS NULL AND last_at IS NOT NULL;

-- Callbacks are kept for a time: the oldest are found without reading the others.
CREATE INDEX callbacks_oldest ON callbacks (received_at);
