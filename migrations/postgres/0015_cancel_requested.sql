-- When a cancel was accepted: the promise outlives its task.
ALTER TABLE orders ADD COLUMN cancel_requested_at BIGINT;
UPDATE orders SET cancel_requested_at = (SELECT min(t.created_at) FROM tasks t WHERE t.order_id = orders.id
    AND t.kind = 'cancel_payment' AND t.state IN ('queued', 'running'))
    WHERE id IN (SELECT order_id FROM tasks WHERE kind = 'cancel_payment' AND state IN ('queued', 'running'));
