-- What the shop says of an order. The buyer stands apart, because that is erased in time.
ALTER TABLE orders ADD COLUMN owner TEXT, ADD COLUMN external_id TEXT, ADD COLUMN details JSON, ADD COLUMN buyer JSON;
-- Why the payer's bank said no, and where the form sends the payer back to.
ALTER TABLE registrations ADD COLUMN decline_code TEXT, ADD COLUMN return_url TEXT;
-- How long the client wants its form to live, in seconds.
ALTER TABLE tasks ADD COLUMN form_lifetime BIGINT;
