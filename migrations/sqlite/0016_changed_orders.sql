-- What has changed since a moment, the longest unchanged first.
CREATE INDEX orders_changed ON orders (updated_at, id);
