-- Tasks: what people and agents work on, who has to do with each, and what became of it.

-- `seq` numbers the newest change, for clients that poll. `reopened_seq` is where a reopened task begins anew for its
-- agents: what was said before is not shown to them unasked.
CREATE TABLE tasks (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    space_id TEXT NOT NULL,
    topic_id TEXT,
    goal_id TEXT,
    plan_id TEXT,
    parent_id TEXT,
    task_index BIGINT,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    status TEXT NOT NULL,
    blocked_reason TEXT,
    priority BIGINT NOT NULL,
    tags TEXT NOT NULL,
    due_date BIGINT,
    snoozed_until BIGINT,
    pinned BIGINT NOT NULL DEFAULT 0,
    color TEXT,
    sort_index DOUBLE PRECISION NOT NULL DEFAULT 0,
    metadata TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    status_at BIGINT NOT NULL,
    last_message_at BIGINT,
    archived_at BIGINT,
    reopened_seq BIGINT NOT NULL DEFAULT 0,
    is_chat BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, parent_id) REFERENCES tasks (account_id, id)
);
CREATE INDEX tasks_by_change ON tasks (account_id, seq);
CREATE INDEX tasks_by_age ON tasks (account_id, created_at, id);
CREATE INDEX tasks_by_status ON tasks (account_id, status, created_at, id);
CREATE UNIQUE INDEX tasks_one_chat ON tasks (account_id) WHERE is_chat = 1;

-- Everyone who has to do with a task: a person (`user`, by mailbox) or an agent.
CREATE TABLE task_parties (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    task_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    party_id TEXT NOT NULL,
    assigned_at BIGINT,
    subscribed BIGINT NOT NULL DEFAULT 0,
    seen_seq BIGINT NOT NULL DEFAULT 0,
    seen_at BIGINT,
    PRIMARY KEY (account_id, task_id, kind, party_id),
    FOREIGN KEY (account_id, task_id) REFERENCES tasks (account_id, id)
); -- clustered
CREATE INDEX task_parties_by_party ON task_parties (account_id, kind, party_id, task_id);

CREATE TABLE task_dependencies (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    task_id TEXT NOT NULL,
    depends_on TEXT NOT NULL,
    PRIMARY KEY (account_id, task_id, depends_on),
    FOREIGN KEY (account_id, task_id) REFERENCES tasks (account_id, id),
    FOREIGN KEY (account_id, depends_on) REFERENCES tasks (account_id, id)
); -- clustered
CREATE INDEX task_dependencies_by_other ON task_dependencies (account_id, depends_on);

-- What a run tells an agent about a task: one row for each message or change, in order.
CREATE TABLE notices (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    run_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    task_id TEXT NOT NULL,
    type TEXT NOT NULL,
    entry_id TEXT,
    author_kind TEXT NOT NULL,
    author_id TEXT NOT NULL,
    author_name TEXT NOT NULL,
    PRIMARY KEY (account_id, run_id, seq),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, task_id) REFERENCES tasks (account_id, id)
); -- clustered

-- A response that an agent asked another one for: once per task and recipient until it is answered or old.
CREATE TABLE response_requests (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    task_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    delivered_at BIGINT,
    answered_at BIGINT,
    PRIMARY KEY (account_id, task_id, agent_id),
    FOREIGN KEY (account_id, task_id) REFERENCES tasks (account_id, id),
    FOREIGN KEY (account_id, agent_id) REFERENCES agents (account_id, id)
); -- clustered

-- A run of a task that has ended and whose consequences for the task are still to come.
CREATE TABLE task_run_ends (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    run_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, run_id),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, task_id) REFERENCES tasks (account_id, id)
); -- clustered
CREATE INDEX task_run_ends_due ON task_run_ends (due_at);

-- When an agent was last given a heartbeat, and what it had been told of by then.
CREATE TABLE heartbeats (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    agent_id TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (account_id, agent_id),
    FOREIGN KEY (account_id, agent_id) REFERENCES agents (account_id, id)
); -- clustered
CREATE INDEX heartbeats_due ON heartbeats (due_at);
-- Every agent is looked at once; the row of one without heartbeats goes then.
INSERT INTO heartbeats (account_id, agent_id, due_at, seq) SELECT account_id, id, 0,
    (SELECT coalesce(max(seq), 0) FROM entries WHERE entries.account_id = agents.account_id) FROM agents;

-- Tasks have been named in sessions, runs and entries before they had rows of their own.
INSERT INTO tasks (account_id, id, seq, space_id, title, description, status, priority, tags, metadata, created_by,
    created_at, updated_at, status_at)
SELECT named.account_id, named.task_id, 0, 'space-default', named.task_id, '', 'inbox', 3, '[]', '{}', 'import',
    named.at, named.at, named.at
FROM (
    SELECT account_id, task_id, min(at) AS at FROM (
        SELECT account_id, task_id, created_at AS at FROM runs
        UNION ALL SELECT account_id, task_id, opened_at FROM sessions
        UNION ALL SELECT account_id, task_id, created_at FROM entries
    ) AS every WHERE task_id IS NOT NULL GROUP BY account_id, task_id
) AS named;

ALTER TABLE runs ADD FOREIGN KEY (account_id, task_id) REFERENCES tasks (account_id, id);
ALTER TABLE sessions ADD FOREIGN KEY (account_id, task_id) REFERENCES tasks (account_id, id);
ALTER TABLE entries ADD FOREIGN KEY (account_id, task_id) REFERENCES tasks (account_id, id);
CREATE INDEX runs_by_task ON runs (account_id, task_id, id) WHERE task_id IS NOT NULL;
CREATE INDEX runs_heartbeats ON runs (account_id, key)
    WHERE provenance_kind = 'heartbeat' AND state IN ('queued', 'running', 'waiting');

-- Which view of its task shows an entry: its thread, its activities, or neither.
ALTER TABLE entries ADD COLUMN task_view TEXT;
CREATE INDEX entries_by_task_view ON entries (account_id, task_id, task_view, seq) WHERE task_view IS NOT NULL;
UPDATE entries SET task_view = 'thread' WHERE task_id IS NOT NULL AND type = 'conversation' AND (role = 'assistant'
    OR (role = 'user' AND provenance LIKE '{"kind":"external_user"%'));
