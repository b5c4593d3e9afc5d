-- Whether an owner gets the weekly summary of an account, and for when the last one was sent (ms UTC).
ALTER TABLE memberships ADD COLUMN weekly_summary INTEGER NOT NULL DEFAULT 1;
ALTER TABLE memberships ADD COLUMN summarized_at INTEGER;
