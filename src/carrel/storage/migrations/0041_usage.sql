-- What runs cost: one row for each day, session, task and model. It outlives the runs, which are pruned.
-- `task_id` is empty where a run is about no task. `cost_usd` is what gateways have reported; the tokens for which they
-- reported nothing are counted apart, because prices in the settings may say what those cost.
CREATE TABLE usage_days (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    day BIGINT NOT NULL,
    key TEXT NOT NULL,
    task_id TEXT NOT NULL,
    model TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    runs BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    unpriced_input BIGINT NOT NULL,
    unpriced_cached BIGINT NOT NULL,
    unpriced_output BIGINT NOT NULL,
    cost_usd DOUBLE PRECISION NOT NULL,
    milliseconds BIGINT NOT NULL,
    PRIMARY KEY (account_id, day, key, task_id, model)
); -- clustered
