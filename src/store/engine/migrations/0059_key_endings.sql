-- The last characters of a key, to tell keys apart; null = created by an earlier version.
ALTER TABLE api_keys ADD COLUMN ending TEXT;
