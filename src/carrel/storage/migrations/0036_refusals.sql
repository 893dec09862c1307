-- What the rules refused to a session's agent: how often each did for each tool, and when last.
CREATE TABLE refusals (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    key TEXT NOT NULL,
    tool TEXT NOT NULL,
    rule TEXT NOT NULL,
    times BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, key, tool, rule),
    FOREIGN KEY (account_id, key) REFERENCES lanes (account_id, key) ON DELETE CASCADE
); -- clustered
