-- Money given back for a registration: one row a refund, from the plan to the provider's word about it. Until now
-- the plan of a refund was hidden in its task, and forgotten with it.
CREATE TABLE refunds (
    order_id     UUID    NOT NULL,
    -- By what a provider that knows keys tells a repeat from a new refund: the same for whoever derives it.
    key          TEXT    NOT NULL CONSTRAINT refunds_key CHECK (length(key) BETWEEN 1 AND 36),
    -- The registration whose money it gives back.
    provider     TEXT    NOT NULL,
    sequence     BIGINT  NOT NULL,
    amount       BIGINT  NOT NULL CONSTRAINT refunds_amount CHECK (amount > 0),
    currency     TEXT    NOT NULL,
    state        TEXT    NOT NULL CONSTRAINT refunds_state CHECK (state IN
        ('planned', 'sent', 'in_doubt', 'done', 'refused', 'cancelled', 'expired', 'review')),
    -- Who wanted the money back.
    origin       TEXT    NOT NULL,
    -- No reference: a finished task is removed long before its refund is. None when it was made elsewhere.
    task_id      BIGINT,
    -- What the provider had told of before the call: its later word is compared with it.
    told_before  BIGINT,
    sent_at      BIGINT,
    sends        BIGINT  NOT NULL CONSTRAINT refunds_sends CHECK (sends >= 0),
    acknowledged BOOLEAN NOT NULL,
    -- Reports since the last send that told the sum of before.
    unchanged    BIGINT  NOT NULL,
    created_at   BIGINT  NOT NULL,
    updated_at   BIGINT  NOT NULL,
    PRIMARY KEY (order_id, key),
    FOREIGN KEY (order_id, provider, sequence) REFERENCES registrations (order_id, provider, sequence)
);

-- The plans that the tasks hold. What may have been sent is in doubt until the provider tells of it.
INSERT INTO refunds (order_id, key, provider, sequence, amount, currency, state, origin, task_id,
    told_before, sent_at, sends, acknowledged, unchanged, created_at, updated_at)
SELECT t.order_id, 'R' || t.id, r.provider, r.sequence, (t.refund ->> 'amount')::bigint, t.refund ->> 'currency',
    CASE WHEN t.state = 'succeeded' THEN 'done' WHEN t.state = 'failed' AND t.error = 'expired' THEN 'expired'
        WHEN t.state = 'failed' THEN 'refused' WHEN t.state IN ('cancelled', 'review') THEN t.state
        WHEN t.refund ->> 'sent_at' IS NULL THEN 'planned' ELSE 'in_doubt' END,
    CASE WHEN r.state = 'surplus' OR t.reason IS NOT DISTINCT FROM 'operator' THEN 'late_money' ELSE 'client' END,
    t.id, (t.refund ->> 'before')::bigint, (t.refund ->> 'sent_at')::bigint, (t.refund ->> 'sends')::bigint,
    (t.refund ->> 'taken')::boolean, (t.refund ->> 'unchanged')::bigint, t.created_at, t.updated_at
FROM tasks t JOIN registrations r
    ON r.order_id = t.order_id AND r.provider = t.result_provider AND r.sequence = t.result_sequence
WHERE t.kind = 'refund_payment' AND t.refund IS NOT NULL;

-- And what was given back without a task that is still here. Where a refund is not settled, the rest of the sum may
-- be its doing: a person looks at that.
INSERT INTO refunds (order_id, key, provider, sequence, amount, currency, state, origin, sends, acknowledged,
    unchanged, created_at, updated_at)
SELECT r.order_id, 'seen-' || r.provider || '-' || r.sequence, r.provider, r.sequence, r.refunded - coalesce(k.done, 0),
    r.currency, 'done', 'elsewhere', 0, false, 0, r.updated_at, r.updated_at
FROM registrations r LEFT JOIN (
    SELECT order_id, provider, sequence, coalesce(sum(amount) FILTER (WHERE state = 'done'), 0) AS done,
        count(*) FILTER (WHERE state IN ('in_doubt', 'review')) AS unsettled
    FROM refunds GROUP BY order_id, provider, sequence) AS k
    ON k.order_id = r.order_id AND k.provider = r.provider AND k.sequence = r.sequence
WHERE r.refunded > coalesce(k.done, 0) AND coalesce(k.unsettled, 0) = 0;
