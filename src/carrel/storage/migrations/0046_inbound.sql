-- What other programs have posted to webhooks, and what became of it. `sender_id` is the sender's own id of a delivery,
-- `digest` that of its body, where no sender sends the same body twice; `body` is kept of the newest ones alone.
CREATE TABLE webhook_deliveries (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    id TEXT NOT NULL,
    webhook TEXT NOT NULL,
    sender_id TEXT NOT NULL,
    digest TEXT,
    event TEXT NOT NULL,
    author TEXT NOT NULL,
    by_bot BIGINT NOT NULL,
    title TEXT NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    task_id TEXT,
    run_id TEXT,
    key TEXT,
    attempts BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    attempted_at BIGINT NOT NULL,
    has_body BIGINT NOT NULL,
    body TEXT,
    PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX webhook_deliveries_by_sender ON webhook_deliveries (account_id, webhook, sender_id);
CREATE UNIQUE INDEX webhook_deliveries_by_digest ON webhook_deliveries (account_id, webhook, digest)
    WHERE digest IS NOT NULL;
CREATE INDEX webhook_deliveries_newest ON webhook_deliveries (account_id, webhook, id);
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (account_id, received_at);
