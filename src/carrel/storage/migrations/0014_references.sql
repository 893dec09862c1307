-- References that so far only the code kept: an agent is never deleted, so a row can hold on to it.

ALTER TABLE sessions ADD FOREIGN KEY (account_id, agent_id) REFERENCES agents (account_id, id);
ALTER TABLE runs ADD FOREIGN KEY (account_id, agent_id) REFERENCES agents (account_id, id);
ALTER TABLE task_counts ADD FOREIGN KEY (account_id, agent_id) REFERENCES agents (account_id, id);
