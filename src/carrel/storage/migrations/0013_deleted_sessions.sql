-- When the last session of a key was deleted: what happened before is not shown to whoever creates the key anew.
CREATE INDEX events_of_deleted_sessions ON events (account_id, key, seq) WHERE name = 'session.deleted';
