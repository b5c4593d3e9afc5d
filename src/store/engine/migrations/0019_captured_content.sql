-- The content of a captured email, next to its source. Null in older rows.
ALTER TABLE captured_mails ADD COLUMN sender TEXT;
ALTER TABLE captured_mails ADD COLUMN recipient TEXT;
ALTER TABLE captured_mails ADD COLUMN subject TEXT;
ALTER TABLE captured_mails ADD COLUMN html TEXT;
ALTER TABLE captured_mails ADD COLUMN text TEXT;

-- Not used any more.
DELETE FROM install WHERE name = 'blanking_due';
