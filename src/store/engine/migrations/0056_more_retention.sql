-- Days that an app keeps its request log and its responses for Idempotency-Keys; null = the default.
ALTER TABLE app_retention ADD COLUMN request_days INTEGER;
ALTER TABLE app_retention ADD COLUMN response_days INTEGER;

-- The app whose days a record lasts; 0 = stored by an earlier version, for the default.
ALTER TABLE idempotency_records ADD COLUMN app_id INTEGER NOT NULL DEFAULT 0;
DROP INDEX idempotency_records_by_age;
CREATE INDEX idempotency_records_by_age ON idempotency_records (app_id, created_at);
