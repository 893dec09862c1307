-- The context of each run that was heard: the block that it was shown in every step, empty where it was shown none, and
-- what is said about it. Its lines are explained one by one; only those that were ranked have a score.
CREATE TABLE contexts (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    run_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    at BIGINT NOT NULL,
    mode TEXT NOT NULL,
    block TEXT NOT NULL,
    layers TEXT NOT NULL,
    omitted TEXT NOT NULL,
    degraded TEXT,
    PRIMARY KEY (account_id, run_id),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, agent_id) REFERENCES agents (account_id, id)
);
CREATE INDEX contexts_by_agent ON contexts (account_id, agent_id, at);
CREATE INDEX contexts_injected ON contexts (account_id, agent_id, at) WHERE block <> '';

CREATE TABLE context_lines (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    run_id TEXT NOT NULL,
    position BIGINT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    section TEXT NOT NULL,
    scope TEXT NOT NULL,
    source TEXT NOT NULL,
    score DOUBLE PRECISION,
    reason TEXT NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (account_id, run_id, position),
    FOREIGN KEY (account_id, run_id) REFERENCES runs (account_id, id) ON DELETE CASCADE
);
CREATE INDEX context_lines_by_id ON context_lines (account_id, kind, id, run_id);
INSERT INTO context_lines (account_id, run_id, position, id, kind, section, scope, source, score, reason, line)
SELECT account_id, run_id, position, id, kind, section, scope, source, score, reason, line FROM context_items;
DROP TABLE context_items;

-- Until now a block was its lines below one heading.
INSERT INTO contexts (account_id, run_id, agent_id, at, mode, block, layers, omitted)
WITH RECURSIVE joined (account_id, run_id, position, block) AS (
    SELECT account_id, run_id, position, 'Kept facts:
' || line FROM context_lines WHERE position = 0
    UNION ALL
    SELECT l.account_id, l.run_id, l.position, j.block || '
' || l.line FROM joined j
    JOIN context_lines l ON l.account_id = j.account_id AND l.run_id = j.run_id AND l.position = j.position + 1
)
SELECT j.account_id, j.run_id, r.agent_id, r.created_at, 'auto', j.block, '["A:memory"]', '{}' FROM joined j
JOIN runs r ON r.account_id = j.account_id AND r.id = j.run_id
LEFT JOIN context_lines n ON n.account_id = j.account_id AND n.run_id = j.run_id AND n.position = j.position + 1
WHERE n.position IS NULL;
