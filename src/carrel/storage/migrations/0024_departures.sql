-- Changes of the board: rows have the number of their newest change, and what has left a space is remembered as long
-- as the events of that time.

ALTER TABLE spaces ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE topics ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
CREATE INDEX topics_by_change ON topics (account_id, seq);
-- NULL for an entry that was never changed after it was written.
ALTER TABLE entries ADD COLUMN changed_seq BIGINT;
CREATE INDEX entries_by_change ON entries (account_id, changed_seq) WHERE changed_seq IS NOT NULL;

-- `kind` is topic, task or log; `item_id` was visible in `space_id` until then. An entry has the lane and the agent that
-- decide, beside its space, who saw it.
CREATE TABLE departures (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    item_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    key TEXT,
    agent_id TEXT,
    PRIMARY KEY (account_id, seq)
); -- clustered

-- Spaces that were made from what tasks named are connected as new ones are.
INSERT INTO space_edges (account_id, space_id, target_id, visible)
SELECT s.account_id, s.id, t.id, t.default_visible FROM spaces s JOIN spaces t ON t.account_id = s.account_id
WHERE t.id <> s.id;
