-- The version of A2A in which a webhook was registered and is posted to.
ALTER TABLE webhooks ADD COLUMN protocol TEXT NOT NULL DEFAULT '1.0';
