-- Auto runs: an agent works by itself on a task of a session, or through a goal, one tick after another. A tick is a run
-- in the session's lane. Whether there is a goal says of which kind an auto run is, so the kind is not stored.
CREATE TABLE auto_runs (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    key TEXT NOT NULL,
    made_by TEXT NOT NULL,
    goal_id TEXT,
    task_id TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    interval_seconds BIGINT,
    tick_count BIGINT NOT NULL,
    tick_run_id TEXT,
    last_tick_at BIGINT,
    due_at BIGINT,
    -- The server that ticks it, and until when that server is known to live.
    worker TEXT,
    alive_until BIGINT NOT NULL,
    -- What was observed last, as a hash, and how many times in a row.
    answer TEXT,
    answer_times BIGINT NOT NULL,
    call TEXT,
    call_times BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, task_id) REFERENCES tasks (account_id, id)
); -- clustered
CREATE INDEX auto_runs_by_session ON auto_runs (account_id, key, id);
CREATE INDEX auto_runs_due ON auto_runs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX auto_runs_live ON auto_runs (alive_until) WHERE status IN ('active', 'stopping');

ALTER TABLE runs ADD COLUMN auto_run_id TEXT;
CREATE INDEX runs_by_auto_run ON runs (account_id, auto_run_id, id) WHERE auto_run_id IS NOT NULL;
-- No two ticks of an auto run wait or work.
CREATE UNIQUE INDEX runs_one_tick ON runs (account_id, auto_run_id)
    WHERE auto_run_id IS NOT NULL AND state IN ('queued', 'running', 'waiting');

-- Which auto run said it: a tick is not shown what another auto run of its session said.
ALTER TABLE entries ADD COLUMN auto_run_id TEXT;

-- The goal or task that a schedule has its agent work on; a schedule of a message has none.
ALTER TABLE schedules ADD COLUMN target_id TEXT;
