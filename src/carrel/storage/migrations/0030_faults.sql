-- When the newest attempt of a run failed, for people who wait for it.
ALTER TABLE runs ADD COLUMN failed_at BIGINT;
