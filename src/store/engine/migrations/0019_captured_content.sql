-- A captured email keeps what it was made of beside its source. NULL in rows from before.
ALTER TABLE captured_mails ADD COLUMN sender TEXT;
ALTER TABLE captured_mails ADD COLUMN recipient TEXT;
ALTER TABLE captured_mails ADD COLUMN subject TEXT;
ALTER TABLE captured_mails ADD COLUMN html TEXT;
ALTER TABLE captured_mails ADD COLUMN text TEXT;

-- The database file is no longer written to beside SQLite.
DELETE FROM install WHERE name = 'blanking_due';
