-- The run that a message is to join while that run is at work; it waits in its lane until then.
ALTER TABLE runs ADD COLUMN steers TEXT;
-- Whether messages wait to join the run, so that its steps look for them only then.
ALTER TABLE runs ADD COLUMN steered BIGINT NOT NULL DEFAULT 0;
CREATE INDEX runs_steering ON runs (account_id, steers, seq) WHERE steers IS NOT NULL AND state = 'queued';
