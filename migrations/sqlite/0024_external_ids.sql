-- A number of a shop names one order of it, and is what a shop looks for.
CREATE UNIQUE INDEX orders_one_external_id ON orders (external_id, owner) WHERE external_id IS NOT NULL;
