-- Where the messages of a session went, newest last: its routing memory. `session_key` is a lane's key or any other name
-- under which entries are sent, so it is no foreign key.
CREATE TABLE topic_routes (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    session_key TEXT NOT NULL,
    seq BIGINT NOT NULL,
    topic_id TEXT NOT NULL,
    task_id TEXT,
    anchor TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (account_id, session_key, seq),
    FOREIGN KEY (account_id, topic_id) REFERENCES topics (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, task_id) REFERENCES tasks (account_id, id)
); -- clustered
CREATE INDEX topic_routes_by_topic ON topic_routes (account_id, topic_id);
CREATE INDEX topic_routes_by_task ON topic_routes (account_id, task_id) WHERE task_id IS NOT NULL;
CREATE INDEX topic_routes_by_age ON topic_routes (account_id, at);

-- One row for each account whose entries have been sorted. Until `due_at` nobody looks at it, or one server works on it.
CREATE TABLE classifier_cycles (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    cycle_id TEXT,
    due_at BIGINT NOT NULL,
    -- How many entries it begins with at most, where somebody has said so.
    entries_max BIGINT,
    last_cycle_at BIGINT,
    PRIMARY KEY (account_id)
); -- clustered

-- When the digest is to be renewed; NULL while nothing has changed since it was written.
ALTER TABLE topics ADD COLUMN digest_due_at BIGINT;
ALTER TABLE tasks ADD COLUMN digest_due_at BIGINT;
CREATE INDEX topics_by_digest_due ON topics (account_id, digest_due_at) WHERE digest_due_at IS NOT NULL;
CREATE INDEX tasks_by_digest_due ON tasks (account_id, digest_due_at) WHERE digest_due_at IS NOT NULL;
