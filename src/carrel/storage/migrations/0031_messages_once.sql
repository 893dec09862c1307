-- A message that its sender has named is one entry, whatever else is sent with it. Of what was stored twice before, the
-- first entry keeps the name. What runs write is not meant: it has no source, and a run that is repeated says it again.
UPDATE entries SET message_id = NULL WHERE message_id IS NOT NULL AND source IS NOT NULL AND EXISTS (
    SELECT 1 FROM entries o WHERE o.account_id = entries.account_id AND o.message_id = entries.message_id
    AND o.type = entries.type AND o.author = entries.author AND COALESCE(o.channel, '') = COALESCE(entries.channel, '')
    AND o.source IS NOT NULL AND o.seq < entries.seq);
CREATE UNIQUE INDEX entries_by_sent_message ON entries (account_id, message_id, type, author, COALESCE(channel, ''))
WHERE message_id IS NOT NULL AND source IS NOT NULL;
