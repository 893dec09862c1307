-- Runs that wait for a gateway nobody answers at: since when, for which, and how long they may: 0 until their deadline,
-- NULL for ever. Waiting uses no attempts.
ALTER TABLE runs ADD COLUMN patience_ms BIGINT DEFAULT 0;
ALTER TABLE runs ADD COLUMN unreachable_since BIGINT;
ALTER TABLE runs ADD COLUMN unreachable_gateway TEXT;
CREATE INDEX runs_unreachable ON runs (unreachable_gateway) WHERE unreachable_gateway IS NOT NULL;
