-- Where a run's answers belong on a channel, by the name that the code has for it.
ALTER TABLE reply_places RENAME TO reply_addresses;
ALTER TABLE reply_addresses RENAME COLUMN place TO chat_address;
ALTER TABLE posts RENAME COLUMN place TO chat_address;
