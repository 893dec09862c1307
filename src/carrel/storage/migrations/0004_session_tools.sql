-- What the session tools ask for: a call that waits for another run, and lanes found by what they were spawned from.

-- Until when a call waits for which run; its result is empty as long as it does.
ALTER TABLE calls ADD COLUMN waits_for TEXT;
ALTER TABLE calls ADD COLUMN waits_until BIGINT;

CREATE INDEX lanes_by_parent ON lanes (account_id, spawned_by) WHERE spawned_by IS NOT NULL;
