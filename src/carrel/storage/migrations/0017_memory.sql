-- Memory: facts that are kept, each in one scope.

-- `agent_id` binds the scopes of sessions and goals to the agent of their lane; it is empty for tasks and `global`.
-- A scope that is NULL comes from an import of older data and is read as `global`; nothing else writes it.
CREATE TABLE memories (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    scope TEXT,
    agent_id TEXT NOT NULL,
    type TEXT NOT NULL,
    title TEXT NOT NULL,
    content TEXT NOT NULL,
    tags TEXT NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    fingerprint TEXT NOT NULL,
    source_run_id TEXT,
    source_entry_id TEXT,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    expires_at BIGINT,
    superseded_by TEXT,
    promoted_from TEXT,
    promoted_by TEXT,
    promotion_reason TEXT,
    PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX memories_once ON memories (account_id, scope, agent_id, fingerprint);
CREATE INDEX memories_by_scope ON memories (account_id, scope, agent_id, updated_at, id);

-- The words of each memory, so that recall looks at those that match and not at all of them.
CREATE TABLE memory_words (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    scope TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    word TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    PRIMARY KEY (account_id, scope, agent_id, word, memory_id),
    FOREIGN KEY (account_id, memory_id) REFERENCES memories (account_id, id) ON DELETE CASCADE
); -- clustered
CREATE INDEX memory_words_by_memory ON memory_words (account_id, memory_id);
