-- Entries that were accepted and wait to be stored, in the order in which they came; `caller` is who sent them.
CREATE TABLE ingests (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    seq BIGINT NOT NULL,
    id TEXT NOT NULL,
    caller TEXT NOT NULL,
    log TEXT NOT NULL,
    attempt BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, seq)
); -- clustered
CREATE INDEX ingests_by_due ON ingests (due_at);

-- Sub-agents' sessions of other systems, each with the entry that tells of its spawning.
CREATE TABLE spawn_links (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    child_key TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    PRIMARY KEY (account_id, child_key),
    FOREIGN KEY (account_id, entry_id) REFERENCES entries (account_id, id) ON DELETE CASCADE
); -- clustered
CREATE INDEX spawn_links_by_entry ON spawn_links (account_id, entry_id);

-- The entry that uses a file that was sent ahead; a file in the thread of a task has the task instead.
ALTER TABLE uploads ADD COLUMN entry_id TEXT;
