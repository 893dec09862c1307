CREATE INDEX tasks_by_parent ON tasks (account_id, parent_id) WHERE parent_id IS NOT NULL;
