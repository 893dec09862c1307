-- Turns that a model is still to be asked about: what of them is worth keeping, and in which scopes that belongs.
CREATE TABLE extractions (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    run_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    chain TEXT NOT NULL,
    gateway TEXT NOT NULL,
    model TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, run_id),
    FOREIGN KEY (account_id, agent_id) REFERENCES agents (account_id, id),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE
); -- clustered
CREATE INDEX extractions_by_due ON extractions (due_at);
