-- no-transaction
-- Whose buyer is still known, the longest unchanged first.
CREATE INDEX CONCURRENTLY IF NOT EXISTS orders_with_buyer ON orders (updated_at) WHERE buyer IS NOT NULL;
