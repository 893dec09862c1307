-- Rebuilding a part of the index: all topics, tasks or entries, or one of them with what belongs to it.

-- `part` is topic, task or entry, and with `:<id>` one of them; `cursor` says how far it has come: the id of the last one,
-- or the number of the last document that belongs to it. What is older than `version` in the end belongs to none.
DROP TABLE search_rebuilds;
CREATE TABLE search_rebuilds (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    part TEXT NOT NULL,
    cursor TEXT NOT NULL,
    version BIGINT NOT NULL,
    requested_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, part)
);
-- What is indexed so far does not say in which spaces the topics of entries and tasks are visible.
INSERT INTO search_rebuilds (account_id, part, cursor, version, requested_at) SELECT id, 'topic', '', 0, created_at FROM accounts;
INSERT INTO search_rebuilds (account_id, part, cursor, version, requested_at) SELECT id, 'task', '', 0, created_at FROM accounts;
INSERT INTO search_rebuilds (account_id, part, cursor, version, requested_at) SELECT id, 'entry', '', 0, created_at FROM accounts;
