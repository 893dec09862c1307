-- Messages that are said again and again, at the moments a cron expression names.

-- `key` is the session a schedule belongs to; it is only named, because a schedule outlives its session and says so.
-- `next_at` is the next window, `retry_at` when the open one is tried again. `due_at` is the earlier of both while
-- something is to be done at a moment; without it the schedule is disabled or waits for the end of `run_id`.
CREATE TABLE schedules (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    key TEXT NOT NULL,
    type TEXT NOT NULL,
    message TEXT NOT NULL,
    cron TEXT NOT NULL,
    timezone TEXT NOT NULL,
    isolated BIGINT NOT NULL,
    enabled BIGINT NOT NULL,
    disabled_reason TEXT,
    max_executions BIGINT NOT NULL,
    execution_count BIGINT NOT NULL,
    next_at BIGINT,
    retry_at BIGINT,
    retries BIGINT NOT NULL,
    due_at BIGINT,
    run_id TEXT,
    last_at BIGINT,
    last_status TEXT,
    last_error TEXT,
    made_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
); -- clustered
CREATE INDEX schedules_due ON schedules (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX schedules_by_session ON schedules (account_id, key, id);
CREATE INDEX schedules_unrested ON schedules (account_id, run_id) WHERE last_status IN ('queued', 'waiting');
