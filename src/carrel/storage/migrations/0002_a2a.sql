-- What A2A asks of runs: the message as its sender wrote it, a number for every change, lists by caller, and webhooks.

-- The sender's own form of the message, without the bytes of its files, which are attachments.
ALTER TABLE runs ADD COLUMN original BYTEA;

-- By which change of its run a part came, so that a reader of an earlier moment can leave it out.
ALTER TABLE artifacts ADD COLUMN change BIGINT NOT NULL DEFAULT 0;

-- Which change of its run an event tells of. Only events of runs that came over A2A are numbered.
ALTER TABLE events ADD COLUMN change BIGINT;
CREATE INDEX events_by_change ON events (account_id, run_id, change) WHERE change IS NOT NULL;

-- A page of a caller's tasks, newest change first: all, by state, by context. No page is longer for there being more.
DROP INDEX runs_by_update;
CREATE INDEX runs_by_update ON runs (account_id, actor_id, agent_id, updated_at, id) WHERE provenance_kind = 'a2a';
CREATE INDEX runs_by_status ON runs (account_id, actor_id, agent_id, state, updated_at, id)
    WHERE provenance_kind = 'a2a';
CREATE INDEX runs_by_context ON runs (account_id, key, updated_at, id) WHERE provenance_kind = 'a2a';

-- How many tasks a caller has with an agent, so that a list can say so without counting them. Spread over a few rows
-- by lane, or all that one caller says at once would wait for one row.
CREATE TABLE task_counts (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    actor_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    stripe BIGINT NOT NULL,
    n BIGINT NOT NULL,
    PRIMARY KEY (account_id, actor_id, agent_id, stripe)
); -- clustered

-- Who else is told of a run's changes. `sent_change` is the last one told, `wanted_change` the last one there is;
-- `due_at` is set while something is left to tell, and lies ahead while somebody is at it or between two attempts.
-- `claim` names a taking while somebody is at it; `host` is the part of the address that may be slow for all its users.
CREATE TABLE webhooks (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    run_id TEXT NOT NULL,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    host TEXT NOT NULL,
    token TEXT NOT NULL,
    scheme TEXT NOT NULL,
    credentials TEXT NOT NULL,
    sent_change BIGINT NOT NULL,
    wanted_change BIGINT NOT NULL,
    attempt BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT,
    claim TEXT,
    given_up TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, run_id, id),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE
); -- clustered
CREATE INDEX webhooks_due ON webhooks (due_at) WHERE due_at IS NOT NULL;
