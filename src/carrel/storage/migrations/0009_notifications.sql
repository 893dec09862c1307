-- What people are told of: a notice about something that happened, in somebody's mailbox, with a mark once it is read.

-- `recipient` is a person's id, or `owners` for the one mailbox that all owner tokens of the account share. A notification
-- outlives what it tells of, so it refers by name only.
CREATE TABLE notifications (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    type TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    key TEXT,
    task_id TEXT,
    entry_id TEXT,
    run_id TEXT,
    session_id TEXT,
    created_at BIGINT NOT NULL,
    read_at BIGINT,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX notifications_by_recipient ON notifications (account_id, recipient, id);
CREATE INDEX notifications_unread ON notifications (account_id, recipient, id) WHERE read_at IS NULL;

-- Whose mailbox an event is about; nobody else is told of it. Every other event is for all who may see its account.
ALTER TABLE events ADD COLUMN recipient TEXT;
