-- Accounts, who may ask, agents, lanes, sessions, runs, the journal and the feed.
-- The account leads every primary key and every foreign key: no row can point across the wall.
-- "clustered" marks tables of short rows that are read by key: SQLite keeps them in the key's own order.

CREATE TABLE accounts (
    id TEXT NOT NULL PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    settings TEXT NOT NULL,
    created_at BIGINT NOT NULL
); -- clustered

CREATE TABLE users (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    email TEXT,
    role TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, slug)
); -- clustered

CREATE TABLE agents (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    enabled BIGINT NOT NULL,
    profile TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, slug)
); -- clustered

-- Every slug an agent has ever borne, the present one included: an old spelling of a key finds its lane for ever.
CREATE TABLE agent_slugs (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    slug TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    PRIMARY KEY (account_id, slug),
    FOREIGN KEY (account_id, agent_id) REFERENCES agents (account_id, id)
); -- clustered

-- One row a lane. `depth` counts what is queued or running; on PostgreSQL the row is also the lane's lock.
-- `generation` is the last number issued; it outlives pruned sessions, so a number is never issued twice.
CREATE TABLE lanes (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    key TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    conversation TEXT NOT NULL,
    depth BIGINT NOT NULL DEFAULT 0,
    generation BIGINT NOT NULL DEFAULT 0,
    made_by TEXT NOT NULL,
    label TEXT,
    display_name TEXT,
    send_policy TEXT,
    model TEXT,
    thinking_level TEXT,
    verbose_level TEXT,
    last_channel TEXT,
    last_to TEXT,
    spawned_by TEXT,
    sandboxed BIGINT NOT NULL DEFAULT 0,
    total_tokens BIGINT NOT NULL DEFAULT 0,
    last_tokens BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    archived_at BIGINT,
    PRIMARY KEY (account_id, key),
    FOREIGN KEY (account_id, agent_id) REFERENCES agents (account_id, id)
); -- clustered
CREATE INDEX lanes_by_conversation ON lanes (account_id, conversation);
CREATE INDEX lanes_by_update ON lanes (account_id, updated_at, key);

CREATE TABLE sessions (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    key TEXT NOT NULL,
    generation BIGINT NOT NULL,
    agent_id TEXT NOT NULL,
    agent_slug TEXT NOT NULL,
    task_id TEXT,
    resolution TEXT NOT NULL,
    opened_at BIGINT NOT NULL,
    closed_at BIGINT,
    closed_reason TEXT,
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, key, generation),
    FOREIGN KEY (account_id, key) REFERENCES lanes (account_id, key)
); -- clustered
CREATE UNIQUE INDEX sessions_one_open ON sessions (account_id, key) WHERE closed_at IS NULL;
CREATE INDEX sessions_by_task ON sessions (account_id, task_id) WHERE task_id IS NOT NULL;
CREATE INDEX sessions_closed ON sessions (closed_at) WHERE closed_at IS NOT NULL;

-- A run is the head of its lane when `due_at` is set: the moment from which it may be claimed. The unique index makes
-- a second head, or a head beside a running run, impossible whatever the code does.
CREATE TABLE runs (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    key TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    state TEXT NOT NULL,
    due_at BIGINT,
    attempt BIGINT NOT NULL DEFAULT 0,
    attempts_max BIGINT NOT NULL,
    claim_no BIGINT NOT NULL DEFAULT 0,
    worker TEXT,
    lease_until BIGINT,
    deadline_at BIGINT,
    stopping TEXT,
    timeout_ms BIGINT NOT NULL,
    changes BIGINT NOT NULL DEFAULT 1,
    actor_id TEXT NOT NULL,
    sender_id TEXT,
    message_id TEXT NOT NULL,
    text TEXT NOT NULL,
    attachment_ids TEXT NOT NULL,
    provenance TEXT NOT NULL,
    provenance_kind TEXT NOT NULL,
    channel TEXT NOT NULL,
    session_id TEXT,
    generation BIGINT,
    task_id TEXT,
    parent_run_id TEXT,
    retried_from TEXT,
    label TEXT,
    waiting_for TEXT,
    question TEXT,
    reply TEXT,
    note TEXT,
    reason TEXT,
    error_code TEXT,
    error_message TEXT,
    usage TEXT,
    instructions_version TEXT,
    instructions_sha256 TEXT,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    updated_at BIGINT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, key) REFERENCES lanes (account_id, key),
    FOREIGN KEY (account_id, session_id) REFERENCES sessions (account_id, id)
);
CREATE UNIQUE INDEX runs_one_at_a_time ON runs (account_id, key) WHERE due_at IS NOT NULL OR state = 'running';
CREATE INDEX runs_due ON runs (due_at, seq) WHERE due_at IS NOT NULL;
CREATE INDEX runs_queued ON runs (account_id, key, seq) WHERE state = 'queued';
CREATE INDEX runs_running ON runs (worker) WHERE state = 'running';
CREATE UNIQUE INDEX runs_by_sender ON runs (account_id, actor_id, sender_id) WHERE sender_id IS NOT NULL;
CREATE INDEX runs_by_key ON runs (account_id, key, id);
-- What is rare is indexed by state; queued and running have indexes of their own, and completed is the rule.
CREATE INDEX runs_by_state ON runs (account_id, state, id) WHERE state IN ('waiting', 'failed', 'cancelled');
CREATE INDEX runs_by_update ON runs (account_id, actor_id, updated_at, id) WHERE provenance_kind = 'a2a';

-- What a run has done through tools, under the name the caller gave the call: repeated, it is answered from here.
CREATE TABLE calls (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    run_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    effect TEXT NOT NULL,
    result TEXT NOT NULL,
    called_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, run_id, call_id),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE
); -- clustered

CREATE TABLE artifacts (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    run_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    artifact_id TEXT NOT NULL,
    name TEXT,
    media_type TEXT,
    filename TEXT,
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    added_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, run_id, seq),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE
);

-- One row for each step of a turn: the exact text that was sent to the gateway, and what came back.
CREATE TABLE steps (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    run_id TEXT NOT NULL,
    n BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    gateway TEXT NOT NULL,
    address TEXT NOT NULL,
    model TEXT NOT NULL,
    instructions_version TEXT NOT NULL,
    instructions_sha256 TEXT NOT NULL,
    body TEXT NOT NULL,
    body_sha256 TEXT NOT NULL,
    history_omitted BIGINT NOT NULL,
    sent_at BIGINT NOT NULL,
    answered_at BIGINT,
    output TEXT,
    PRIMARY KEY (account_id, run_id, n),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE
);

CREATE TABLE attachments (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    mime_type TEXT NOT NULL,
    size_bytes BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    content BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);

-- The journal. `seq` is its order everywhere, whatever two clocks say.
CREATE TABLE entries (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    seq BIGINT NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    role TEXT NOT NULL,
    content TEXT NOT NULL,
    details TEXT,
    key TEXT,
    session_id TEXT,
    run_id TEXT,
    agent_id TEXT,
    author TEXT NOT NULL,
    provenance TEXT NOT NULL,
    message_id TEXT,
    channel TEXT,
    attachment_ids TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, seq),
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, key) REFERENCES lanes (account_id, key),
    FOREIGN KEY (account_id, session_id) REFERENCES sessions (account_id, id)
);
CREATE INDEX entries_by_session ON entries (account_id, session_id, seq);
CREATE INDEX entries_by_run ON entries (account_id, run_id, seq);
CREATE INDEX entries_by_key ON entries (account_id, key, seq);

-- The feed. Events outlive what they tell of, so they refer by name only.
CREATE TABLE events (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    seq BIGINT NOT NULL,
    name TEXT NOT NULL,
    at BIGINT NOT NULL,
    key TEXT,
    conversation TEXT,
    generation BIGINT,
    run_id TEXT,
    task_id TEXT,
    agent_id TEXT,
    body TEXT NOT NULL,
    PRIMARY KEY (account_id, seq)
); -- clustered

-- Up to where an account's events have been removed: a follower from before that point must read anew.
CREATE TABLE feed_marks (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    pruned_seq BIGINT NOT NULL,
    PRIMARY KEY (account_id)
); -- clustered

CREATE TABLE tokens (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    secret_sha256 TEXT NOT NULL UNIQUE,
    agent_id TEXT,
    user_id TEXT,
    run_id TEXT,
    agent_ids TEXT NOT NULL,
    space_ids TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    expires_at BIGINT,
    revoked_at BIGINT,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, agent_id) REFERENCES agents (account_id, id),
    FOREIGN KEY (account_id, user_id) REFERENCES users (account_id, id),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE
); -- clustered

-- A browser's sign-in: an opaque cookie that stands for a token and can be ended here.
CREATE TABLE logins (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    secret_sha256 TEXT NOT NULL UNIQUE,
    token_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, token_id) REFERENCES tokens (account_id, id) ON DELETE CASCADE
); -- clustered

-- Which session a transport (a browser, a chat) points to.
CREATE TABLE pointers (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    transport TEXT NOT NULL,
    key TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, transport),
    FOREIGN KEY (account_id, key) REFERENCES lanes (account_id, key)
); -- clustered

-- Answers given to requests that may be repeated under one idempotency key.
CREATE TABLE answers (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    actor_id TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    request_sha256 TEXT NOT NULL,
    status BIGINT NOT NULL,
    body TEXT NOT NULL,
    answered_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, actor_id, idempotency_key)
);
CREATE INDEX answers_by_time ON answers (answered_at);
