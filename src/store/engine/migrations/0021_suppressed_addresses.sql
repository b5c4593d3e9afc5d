-- Null once the person was erased.
ALTER TABLE suppressions ADD COLUMN email TEXT;
CREATE INDEX suppressions_by_email ON suppressions (app_id, email);
CREATE INDEX suppressions_by_time ON suppressions (app_id, created_at, email_hash);
CREATE INDEX suppressions_by_reason ON suppressions (app_id, reason, created_at, email_hash);
