-- Budgets have names, and last a day, a month or forever. `subject` is the agent, the task or the session that a budget is
-- of; empty, it is of the account, or of each of its scope. A number that is 0 limits nothing. `action` says whether work
-- waits when it is used up, or people are only told.
UPDATE runs SET budget = NULL WHERE budget IS NOT NULL;
ALTER TABLE runs RENAME COLUMN budget TO held_for;
DROP TABLE budget_periods;
DROP TABLE budgets;
CREATE TABLE budgets (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    scope TEXT NOT NULL,
    subject TEXT NOT NULL,
    tokens BIGINT NOT NULL,
    usd DOUBLE PRECISION NOT NULL,
    runs BIGINT NOT NULL,
    per TEXT NOT NULL,
    action TEXT NOT NULL,
    PRIMARY KEY (account_id, name)
); -- clustered

-- A budget of one subject in one period, by the day on which that began, which is 0 for one that is forever: how often it
-- was allowed once more, and what people were told of. Budgets of the settings have rows here too.
CREATE TABLE budget_periods (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    subject TEXT NOT NULL,
    since BIGINT NOT NULL,
    allowed BIGINT NOT NULL DEFAULT 0,
    warned_at BIGINT,
    used_up_at BIGINT,
    PRIMARY KEY (account_id, since, name, subject)
); -- clustered
CREATE INDEX budget_periods_by_name ON budget_periods (account_id, name);

-- How many runs of a gateway or an agent may work at once. An agent's own figures are searched by claims, so they are
-- columns: NULL for `concurrency` is what the settings say, 0 no limit. A run with a `gateway` does not go to its agent's.
ALTER TABLE agents ADD COLUMN gateway TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN concurrency BIGINT;
-- sqlite: UPDATE agents SET gateway = COALESCE(json_extract(profile, '$.gateway'), '');
-- postgresql: UPDATE agents SET gateway = COALESCE(profile::json->>'gateway', '');
ALTER TABLE runs ADD COLUMN gateway TEXT;
-- Claims that count what runs work wait for each other at its one row.
CREATE TABLE concurrency_locks (
    name TEXT PRIMARY KEY
);
