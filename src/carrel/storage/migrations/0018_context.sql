-- What was recalled for a run when it was heard: shown to it in every step, and explained on its receipt.
CREATE TABLE context_items (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    run_id TEXT NOT NULL,
    position BIGINT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    section TEXT NOT NULL,
    scope TEXT NOT NULL,
    source TEXT NOT NULL,
    score DOUBLE PRECISION NOT NULL,
    reason TEXT NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (account_id, run_id, position),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE
);
CREATE INDEX context_items_by_id ON context_items (account_id, kind, id, run_id);
