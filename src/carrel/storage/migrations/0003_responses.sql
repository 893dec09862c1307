-- What Open Responses asks of runs: what a sender adds to a turn, and responses, by which a sender knows runs.

-- 1 where the sender added something to the turn, so that for all other runs nobody looks for it.
ALTER TABLE runs ADD COLUMN extras BIGINT NOT NULL DEFAULT 0;

-- What a run's sender adds to its turn: instructions, functions of its own, earlier talk, options of the model.
CREATE TABLE turn_extras (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    run_id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (account_id, run_id),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE
);

-- A response is a stretch of a run: from what was said to the end, or to where the run waits for its sender.
-- It shows the run's entries behind `after_seq`, up to where the next stretch begins. `spent` is what the run had used
-- before, `rested_at` when the stretch before came to rest; `request` is what the answer repeats of the request.
CREATE TABLE responses (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    stretch BIGINT NOT NULL,
    actor_id TEXT NOT NULL,
    after_seq BIGINT NOT NULL,
    spent TEXT,
    rested_at BIGINT,
    previous_id TEXT,
    stored BIGINT NOT NULL,
    request TEXT NOT NULL,
    idempotency_key TEXT,
    request_sha256 TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, run_id, stretch),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX responses_by_key ON responses (account_id, actor_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
