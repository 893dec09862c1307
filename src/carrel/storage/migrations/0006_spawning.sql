-- What spawning asks for: the files a lane was given, what becomes of a spawned lane, and lanes that are past their time.

-- Where the child's files were placed, and the receipt for them.
ALTER TABLE lanes ADD COLUMN files TEXT;

CREATE INDEX lanes_of_children ON lanes (account_id, updated_at) WHERE kind = 'subagent' AND archived_at IS NULL;

-- Whether the child goes once its result is delivered, and whether the result wakes who asked for it.
ALTER TABLE exchanges ADD COLUMN cleanup TEXT NOT NULL DEFAULT 'keep';
ALTER TABLE exchanges ADD COLUMN wakes BIGINT NOT NULL DEFAULT 1;
CREATE INDEX exchanges_by_requester ON exchanges (account_id, requester_key) WHERE state = 'open' AND kind = 'spawn';

-- Folders of files that nobody wants any more; a row goes with its folder.
CREATE TABLE leftovers (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    files TEXT NOT NULL,
    left_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
); -- clustered
