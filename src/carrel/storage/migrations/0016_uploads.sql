-- Files that were sent ahead of the message they belong to: whose each is, and in which task's thread it is used.
CREATE TABLE uploads (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    attachment_id TEXT NOT NULL,
    made_by TEXT NOT NULL,
    made_at BIGINT NOT NULL,
    task_id TEXT,
    PRIMARY KEY (account_id, attachment_id),
    FOREIGN KEY (account_id, attachment_id) REFERENCES attachments (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, task_id) REFERENCES tasks (account_id, id)
); -- clustered
CREATE INDEX uploads_unused ON uploads (account_id, made_at) WHERE task_id IS NULL;
