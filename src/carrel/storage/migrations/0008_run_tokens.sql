-- Runs that are called for from outside of their turn: the end a call has asked for, and tokens found by their run.

-- Kept as JSON from the call that asks for it until the run has come to it.
ALTER TABLE runs ADD COLUMN wanted_end TEXT;

CREATE INDEX tokens_by_run ON tokens (account_id, run_id) WHERE run_id IS NOT NULL;
