-- Goals, plans and plan mode. A goal and a plan belong to a session: the lane of `key`.

CREATE TABLE goals (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    key TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    made_by TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    status TEXT NOT NULL,
    metadata TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, agent_id) REFERENCES agents (account_id, id)
); -- clustered
CREATE INDEX goals_by_session ON goals (account_id, key, id);
CREATE INDEX goals_by_maker ON goals (account_id, made_by, id);

CREATE TABLE plans (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    key TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    made_by TEXT NOT NULL,
    goal_id TEXT,
    title TEXT NOT NULL,
    markdown TEXT NOT NULL,
    status TEXT NOT NULL,
    -- Whether somebody has stopped it: then nothing of it begins, whatever its tasks do.
    held BIGINT NOT NULL,
    dependencies TEXT NOT NULL,
    metadata TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, agent_id) REFERENCES agents (account_id, id),
    FOREIGN KEY (account_id, goal_id) REFERENCES goals (account_id, id) ON DELETE CASCADE
); -- clustered
CREATE INDEX plans_by_session ON plans (account_id, key, id);
CREATE INDEX plans_by_goal ON plans (account_id, goal_id, id) WHERE goal_id IS NOT NULL;

-- Plans whose tasks or runs have changed. Without a unique key, so that two changes at once never wait for each other.
CREATE TABLE plan_notes (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    plan_id TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, plan_id) REFERENCES plans (account_id, id) ON DELETE CASCADE
); -- clustered
CREATE INDEX plan_notes_by_plan ON plan_notes (account_id, plan_id);
CREATE INDEX plan_notes_by_due ON plan_notes (due_at);

CREATE INDEX tasks_by_plan ON tasks (account_id, plan_id, task_index) WHERE plan_id IS NOT NULL;
CREATE INDEX tasks_by_goal ON tasks (account_id, goal_id, id) WHERE goal_id IS NOT NULL;

-- Whether a session is in plan mode, and which plan it works on.
CREATE TABLE plan_modes (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    key TEXT NOT NULL,
    enabled BIGINT NOT NULL,
    active_plan_id TEXT,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, key),
    FOREIGN KEY (account_id, key) REFERENCES lanes (account_id, key) ON DELETE CASCADE,
    FOREIGN KEY (account_id, active_plan_id) REFERENCES plans (account_id, id)
); -- clustered
