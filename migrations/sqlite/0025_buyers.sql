-- Whose buyer is still known, the longest unchanged first.
CREATE INDEX orders_with_buyer ON orders (updated_at) WHERE buyer IS NOT NULL;
