-- What a topic is recognised by: its words with their counts, from how many messages they are, and how many these were
-- when it was named. Deleted as soon as a message of the topic is deleted, changed or moved, and then made anew.
CREATE TABLE topic_profiles (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    topic_id TEXT NOT NULL,
    lines BIGINT NOT NULL,
    named BIGINT NOT NULL,
    words TEXT NOT NULL,
    PRIMARY KEY (account_id, topic_id),
    FOREIGN KEY (account_id, topic_id) REFERENCES topics (account_id, id) ON DELETE CASCADE
); -- clustered

-- Whether somebody has named it, moved it or sorted something in it: the classifier then neither renames nor merges it.
ALTER TABLE topics ADD COLUMN curated BIGINT NOT NULL DEFAULT 0;
-- The topics that were merged into it, with the entries that came from them.
ALTER TABLE topics ADD COLUMN merged_from TEXT NOT NULL DEFAULT '[]';
