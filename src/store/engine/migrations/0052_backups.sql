-- Finished and failed backups of this installation.
CREATE TABLE backups (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('manual', 'scheduled')),
  -- a path or an s3:// address, without credentials
  place TEXT NOT NULL,
  -- ms UTC
  started_at INTEGER NOT NULL,
  -- ms UTC, also of a failure
  finished_at INTEGER NOT NULL,
  -- 0 if it failed
  bytes INTEGER NOT NULL,
  -- NULL if it succeeded
  error TEXT
) STRICT;
