-- Sessions that people keep at hand: since when.
ALTER TABLE lanes ADD COLUMN pinned_at BIGINT;
