-- Delegated runs that have not ended: when each is looked after next, and the state in which it was found last.
CREATE TABLE followups (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    run_id TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    seen TEXT NOT NULL,
    PRIMARY KEY (account_id, run_id),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE
); -- clustered
CREATE INDEX followups_due ON followups (due_at);
