-- What happens after a lane has sent something to another or has spawned one: who is to speak next, and how far it is.

-- `first_run_id` is the run that was asked for; the exchange is forgotten with it. Other runs and the requester are only
-- named: they may be gone before the exchange ends. `answered_inline` is unknown while the requester still waits.
-- `due_at` is set while something is to be done at a moment; without it the exchange waits for its current run to end.
CREATE TABLE exchanges (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    requester_key TEXT NOT NULL,
    requester_session_id TEXT,
    requester_run_id TEXT,
    target_key TEXT NOT NULL,
    first_run_id TEXT NOT NULL,
    current_run_id TEXT,
    step TEXT NOT NULL,
    round BIGINT NOT NULL,
    rounds_max BIGINT NOT NULL,
    last_reply TEXT,
    announcement TEXT,
    answered_inline BIGINT,
    attempts BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT,
    expires_at BIGINT,
    state TEXT NOT NULL,
    error TEXT,
    created_at BIGINT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, first_run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE
); -- clustered
CREATE UNIQUE INDEX exchanges_by_first_run ON exchanges (account_id, first_run_id);
CREATE INDEX exchanges_by_current_run ON exchanges (account_id, current_run_id) WHERE state = 'open';
CREATE INDEX exchanges_due ON exchanges (due_at) WHERE due_at IS NOT NULL;
