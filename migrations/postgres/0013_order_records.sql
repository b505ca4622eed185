-- What operators look up of one order: its tasks, also the finished ones, and what was told of its numbers.
CREATE INDEX tasks_of_order ON tasks (order_id, created_at, id);
CREATE INDEX callbacks_of_number ON callbacks (provider, number, received_at);

-- Both sides of the contradiction that laid a task before a person, as JSON; an earlier version leaves it alone.
ALTER TABLE tasks ADD COLUMN dispute TEXT;
