-- The board: spaces, topics, and what entries say about where they belong.

CREATE TABLE spaces (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    color TEXT,
    default_visible BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
); -- clustered
INSERT INTO spaces (account_id, id, name, default_visible, created_at, updated_at)
SELECT id, 'space-default', 'Default', 1, created_at, created_at FROM accounts;

-- Whether what is in `target_id` is visible from `space_id`. A pair without a row is not visible.
CREATE TABLE space_edges (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    space_id TEXT NOT NULL,
    target_id TEXT NOT NULL,
    visible BIGINT NOT NULL,
    PRIMARY KEY (account_id, space_id, target_id),
    FOREIGN KEY (account_id, space_id) REFERENCES spaces (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, target_id) REFERENCES spaces (account_id, id) ON DELETE CASCADE
); -- clustered
CREATE INDEX space_edges_by_target ON space_edges (account_id, target_id);

-- `digest` is written by the classifier and is in no index; renewing it leaves `updated_at` as it is.
CREATE TABLE topics (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    status TEXT NOT NULL,
    snoozed_until BIGINT,
    priority BIGINT NOT NULL,
    tags TEXT NOT NULL,
    parent_id TEXT,
    pinned BIGINT NOT NULL DEFAULT 0,
    color TEXT,
    sort_index DOUBLE PRECISION NOT NULL DEFAULT 0,
    digest TEXT,
    digest_updated_at BIGINT,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, space_id) REFERENCES spaces (account_id, id),
    FOREIGN KEY (account_id, parent_id) REFERENCES topics (account_id, id)
);
CREATE INDEX topics_by_space ON topics (account_id, space_id);
CREATE INDEX topics_by_update ON topics (account_id, updated_at, id);

-- The spaces in which a topic is visible: its own, and those that its tags name.
CREATE TABLE topic_spaces (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    topic_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    PRIMARY KEY (account_id, topic_id, space_id),
    FOREIGN KEY (account_id, topic_id) REFERENCES topics (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, space_id) REFERENCES spaces (account_id, id) ON DELETE CASCADE
); -- clustered
CREATE INDEX topic_spaces_by_space ON topic_spaces (account_id, space_id, topic_id);

-- Topics and spaces have been named in tasks before they had rows of their own.
INSERT INTO spaces (account_id, id, name, default_visible, created_at, updated_at)
SELECT account_id, space_id, space_id, 1, min(created_at), min(created_at) FROM tasks
WHERE space_id <> 'space-default' GROUP BY account_id, space_id;
INSERT INTO topics (account_id, id, space_id, name, description, status, priority, tags, created_by, created_at, updated_at)
SELECT account_id, topic_id, 'space-default', topic_id, '', 'active', 3, '[]', 'import', min(created_at), min(created_at)
FROM tasks WHERE topic_id IS NOT NULL GROUP BY account_id, topic_id;
INSERT INTO topic_spaces (account_id, topic_id, space_id) SELECT account_id, id, space_id FROM topics;
ALTER TABLE tasks ADD COLUMN digest TEXT;
ALTER TABLE tasks ADD COLUMN digest_updated_at BIGINT;
ALTER TABLE tasks ADD FOREIGN KEY (account_id, topic_id) REFERENCES topics (account_id, id);
ALTER TABLE tasks ADD FOREIGN KEY (account_id, space_id) REFERENCES spaces (account_id, id);
CREATE INDEX tasks_by_topic ON tasks (account_id, topic_id) WHERE topic_id IS NOT NULL;
CREATE INDEX tasks_by_space ON tasks (account_id, space_id);

-- What is said about an entry besides its text. `bucket` is a session key that names no lane of ours; `dedupe` is what
-- makes an entry that is sent again the same one; `classification` is pending, classified or failed.
ALTER TABLE entries ADD COLUMN summary TEXT;
ALTER TABLE entries ADD COLUMN raw TEXT;
ALTER TABLE entries ADD COLUMN related_id TEXT;
ALTER TABLE entries ADD COLUMN bucket TEXT;
ALTER TABLE entries ADD COLUMN agent_label TEXT;
ALTER TABLE entries ADD COLUMN source TEXT;
ALTER TABLE entries ADD COLUMN dedupe TEXT;
ALTER TABLE entries ADD COLUMN classification TEXT NOT NULL DEFAULT 'pending';
ALTER TABLE entries ADD COLUMN classification_attempts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN classification_error TEXT;
ALTER TABLE entries ADD COLUMN updated_at BIGINT;
ALTER TABLE entries ADD FOREIGN KEY (account_id, topic_id) REFERENCES topics (account_id, id);
ALTER TABLE entries ADD FOREIGN KEY (account_id, space_id) REFERENCES spaces (account_id, id);
CREATE UNIQUE INDEX entries_once ON entries (account_id, dedupe) WHERE dedupe IS NOT NULL;
CREATE INDEX entries_pending ON entries (account_id, seq) WHERE classification = 'pending';
CREATE INDEX entries_by_topic ON entries (account_id, topic_id, seq) WHERE topic_id IS NOT NULL;
CREATE INDEX entries_by_bucket ON entries (account_id, bucket, seq) WHERE bucket IS NOT NULL;
CREATE INDEX entries_by_related ON entries (account_id, related_id, seq) WHERE related_id IS NOT NULL;
CREATE INDEX entries_by_message ON entries (account_id, message_id) WHERE message_id IS NOT NULL;

ALTER TABLE events ADD COLUMN topic_id TEXT;
ALTER TABLE events ADD COLUMN space_id TEXT;
