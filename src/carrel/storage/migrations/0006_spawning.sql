-- What spawning asks for: the files a lane was given, what becomes of a spawned lane, and lanes that are past their time.

-- The receipt of what was placed in the child's workspace.
ALTER TABLE lanes ADD COLUMN files TEXT;

CREATE INDEX lanes_of_children ON lanes (account_id, updated_at) WHERE kind = 'subagent' AND archived_at IS NULL;

-- Whether the child goes once its result is delivered, and whether the result wakes who asked for it.
ALTER TABLE exchanges ADD COLUMN cleanup TEXT NOT NULL DEFAULT 'keep';
ALTER TABLE exchanges ADD COLUMN wakes BIGINT NOT NULL DEFAULT 1;
