-- What leaves the house on a channel that must be carried to: where a run's answers belong, and what is to be said there.

-- Only runs that came from such a channel have a place; what they come to is posted there.
CREATE TABLE reply_places (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    run_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    place TEXT NOT NULL,
    PRIMARY KEY (account_id, run_id),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE
); -- clustered

-- `seq` is the order of one place. `about` is what a run has come to; its words are read off the run when the post is
-- first taken, and kept, so that a post in several parts goes on where it stood. `due_at` is set while it is open.
CREATE TABLE posts (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    channel TEXT NOT NULL,
    place TEXT NOT NULL,
    seq BIGINT NOT NULL,
    run_id TEXT,
    about TEXT,
    text TEXT,
    parts_sent BIGINT NOT NULL DEFAULT 0,
    attempts BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT,
    claim TEXT,
    state TEXT NOT NULL,
    error TEXT,
    created_at BIGINT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE
); -- clustered
CREATE INDEX posts_due ON posts (channel, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX posts_by_place ON posts (account_id, channel, place, seq) WHERE due_at IS NOT NULL;
CREATE INDEX posts_by_run ON posts (account_id, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX posts_ended ON posts (account_id, ended_at) WHERE ended_at IS NOT NULL;
