-- The order of tasks within a column of the board, and its ends.
CREATE INDEX tasks_by_position ON tasks (account_id, status, sort_index, id);
CREATE INDEX tasks_by_rank ON tasks (account_id, sort_index, id);
