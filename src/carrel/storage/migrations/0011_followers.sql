-- Where a run's answers belong on a channel, by the name that the code has for it.
ALTER TABLE reply_places RENAME TO reply_addresses;
ALTER TABLE reply_addresses RENAME COLUMN place TO chat_address;
ALTER TABLE posts RENAME COLUMN place TO chat_address;

-- How far each follower of the feed has come in an account. Whoever works on it holds a lease until `lease_until`.
CREATE TABLE followers (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    cursor BIGINT NOT NULL,
    worker TEXT,
    lease_until BIGINT,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, name)
); -- clustered

-- What entries are filtered by: the task, topic and space they belong to, and whether a user, an agent or the system
-- wrote them. Entries of task lanes are given their task.
ALTER TABLE entries ADD COLUMN task_id TEXT;
ALTER TABLE entries ADD COLUMN topic_id TEXT;
ALTER TABLE entries ADD COLUMN space_id TEXT;
ALTER TABLE entries ADD COLUMN author_kind TEXT NOT NULL DEFAULT 'user';
UPDATE entries SET task_id = (
    SELECT s.task_id FROM sessions s WHERE s.account_id = entries.account_id AND s.id = entries.session_id
) WHERE session_id IS NOT NULL;
UPDATE entries SET author_kind = 'agent' WHERE author = agent_id;
CREATE INDEX entries_by_task ON entries (account_id, task_id, seq) WHERE task_id IS NOT NULL;

-- A run of a task knows its task whatever lane it is in.
UPDATE runs SET task_id = (
    SELECT s.task_id FROM sessions s WHERE s.account_id = runs.account_id AND s.id = runs.session_id
) WHERE task_id IS NULL AND session_id IS NOT NULL;
