-- What the shop says of an order. The buyer stands apart, because that is erased in time.
ALTER TABLE orders ADD COLUMN owner TEXT;
ALTER TABLE orders ADD COLUMN external_id TEXT;
ALTER TABLE orders ADD COLUMN details TEXT CHECK (details IS NULL OR json_valid(details));
ALTER TABLE orders ADD COLUMN buyer TEXT CHECK (buyer IS NULL OR json_valid(buyer));
-- Why the payer's bank said no, and where the form sends the payer back to.
ALTER TABLE registrations ADD COLUMN decline_code TEXT;
ALTER TABLE registrations ADD COLUMN return_url TEXT;
-- How long the client wants its form to live, in seconds.
ALTER TABLE tasks ADD COLUMN form_lifetime INTEGER;
