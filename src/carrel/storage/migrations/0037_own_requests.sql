-- What models were asked by the server itself within the last hour, and digests of what they answered.
CREATE TABLE own_requests (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    asked_at BIGINT NOT NULL,
    answer TEXT,
    known_until BIGINT,
    PRIMARY KEY (account_id, id)
); -- clustered
CREATE INDEX own_requests_by_answer ON own_requests (account_id, answer);
