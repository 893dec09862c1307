-- Tasks in progress on which nobody works: the run that ended last, how often they were taken up again since, and when
-- they are next. Nothing is due once people have been told.
CREATE TABLE stalls (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    task_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    taken_up BIGINT NOT NULL,
    due_at BIGINT,
    PRIMARY KEY (account_id, task_id),
    FOREIGN KEY (account_id, task_id) REFERENCES tasks (account_id, id),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE
); -- clustered
CREATE INDEX stalls_by_due ON stalls (due_at) WHERE due_at IS NOT NULL;
