-- no-transaction
-- A number of a shop names one order of it, and is what a shop looks for.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS orders_one_external_id ON orders (external_id, owner) WHERE external_id IS NOT NULL;
