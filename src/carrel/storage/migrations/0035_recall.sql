-- Whether what is said in a lane stays there (own) or is on the board (space): a session's own choice, and what holds for
-- the sessions and agents of an account that choose nothing. Until now everything was sorted, so that existing accounts
-- begin with `space`; the next start changes that to what the settings say and takes private conversations off the board.
ALTER TABLE lanes ADD COLUMN recall TEXT;
ALTER TABLE accounts ADD COLUMN recall_default TEXT NOT NULL DEFAULT 'space';
-- What a run may see at most, because of whoever caused it: a list of spaces; NULL for all of them.
ALTER TABLE runs ADD COLUMN space_ids TEXT;
-- The user or program that has caused a run, whose eyes it sees with; NULL for owners and Carrel itself.
ALTER TABLE runs ADD COLUMN behalf TEXT;
ALTER TABLE auto_runs ADD COLUMN space_ids TEXT NOT NULL DEFAULT '["*"]';
ALTER TABLE auto_runs ADD COLUMN behalf TEXT;
ALTER TABLE schedules ADD COLUMN space_ids TEXT NOT NULL DEFAULT '["*"]';
ALTER TABLE schedules ADD COLUMN behalf TEXT;
-- The index names who may find something in other marks.
INSERT INTO search_rebuilds (account_id, part, cursor, version, requested_at) SELECT id, 'account:all', '', 0, created_at FROM accounts;
