-- The length of the queue is kept, not counted: whoever joins reads sixteen numbers, however many wait.
-- By triggers, so that it is true whatever statement of whatever version moves a task. The index
-- tasks_waiting stays for instances of earlier versions, which count by it.

-- A share for each of sixteen connections, so that those who join at the same time do not wait for each
-- other's commits.
CREATE TABLE queue_length (
    share    SMALLINT NOT NULL PRIMARY KEY,
    waiting  BIGINT   NOT NULL
) WITH (fillfactor = 10);

-- Waits for a provider, also while it is being tried again.
CREATE FUNCTION task_waits(kind TEXT, state TEXT, reason TEXT) RETURNS BOOLEAN LANGUAGE sql IMMUTABLE AS $$
    SELECT kind = 'register_payment' AND CASE state
        WHEN 'queued' THEN reason IS DISTINCT FROM 'outcome_unknown'
        WHEN 'running' THEN reason IS NOT NULL AND reason <> 'outcome_unknown'
        ELSE false
    END
$$;

CREATE FUNCTION count_waiting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE queue_length SET waiting = waiting + TG_ARGV[0]::bigint WHERE share = pg_backend_pid() % 16;
    RETURN NULL;
END $$;

CREATE TRIGGER tasks_inserted AFTER INSERT ON tasks FOR EACH ROW
    WHEN (task_waits(NEW.kind, NEW.state, NEW.reason)) EXECUTE FUNCTION count_waiting('1');

CREATE TRIGGER tasks_joined AFTER UPDATE ON tasks FOR EACH ROW
    WHEN (task_waits(NEW.kind, NEW.state, NEW.reason)
        AND NOT task_waits(OLD.kind, OLD.state, OLD.reason)) EXECUTE FUNCTION count_waiting('1');

CREATE TRIGGER tasks_left AFTER UPDATE ON tasks FOR EACH ROW
    WHEN (task_waits(OLD.kind, OLD.state, OLD.reason)
        AND NOT task_waits(NEW.kind, NEW.state, NEW.reason)) EXECUTE FUNCTION count_waiting('-1');

CREATE TRIGGER tasks_deleted AFTER DELETE ON tasks FOR EACH ROW
    WHEN (task_waits(OLD.kind, OLD.state, OLD.reason)) EXECUTE FUNCTION count_waiting('-1');

-- Nobody moves a task meanwhile: the triggers' lock is held until the end.
INSERT INTO queue_length (share, waiting)
    SELECT share, CASE share WHEN 0 THEN (SELECT count(*) FROM tasks t
        WHERE task_waits(t.kind, t.state, t.reason)) ELSE 0 END
    FROM generate_series(0, 15) AS share;
