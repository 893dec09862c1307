-- What runs may use, and what has become of it. A number that is 0 limits nothing. `subject` is the agent, the task or the
-- session that a budget is of, and empty for the account's own; `period` is a day or the whole time.
CREATE TABLE budgets (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    scope TEXT NOT NULL,
    period TEXT NOT NULL,
    subject TEXT NOT NULL,
    tokens BIGINT NOT NULL,
    cost_usd DOUBLE PRECISION NOT NULL,
    runs BIGINT NOT NULL,
    PRIMARY KEY (account_id, scope, period, subject)
); -- clustered

-- A budget in one day, or in the whole time, which is day 0: how often it was allowed once more, and what people were
-- told of. Budgets of the settings have rows here too.
CREATE TABLE budget_periods (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    scope TEXT NOT NULL,
    period TEXT NOT NULL,
    subject TEXT NOT NULL,
    day BIGINT NOT NULL,
    allowed BIGINT NOT NULL DEFAULT 0,
    warned_at BIGINT,
    used_up_at BIGINT,
    PRIMARY KEY (account_id, day, scope, period, subject)
); -- clustered

-- The budget that a run waits for.
ALTER TABLE runs ADD COLUMN budget TEXT;
CREATE INDEX runs_held ON runs (account_id, budget) WHERE budget IS NOT NULL;

-- What a task or a session has used in all its days.
CREATE INDEX usage_days_by_task ON usage_days (account_id, task_id) WHERE task_id <> '';
CREATE INDEX usage_days_by_key ON usage_days (account_id, key);
