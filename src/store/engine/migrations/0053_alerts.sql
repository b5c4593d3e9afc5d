-- Alerts to owners and to the webhook of the installation.
CREATE TABLE alerts (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  -- what it is about, such as a mail server or an app; with the kind, the same while the problem lasts
  subject TEXT NOT NULL,
  -- whose owners are told; null: those who operate the installation
  account_id TEXT,
  title TEXT NOT NULL,
  detail TEXT NOT NULL,
  fix TEXT NOT NULL,
  -- of the page that helps
  path TEXT NOT NULL,
  -- ms UTC
  opened_at INTEGER NOT NULL,
  resolved_at INTEGER,
  -- JSON: who was told what, so that a restart tells nobody twice
  notices TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX alerts_open ON alerts (kind, subject) WHERE resolved_at IS NULL;
CREATE INDEX alerts_by_time ON alerts (opened_at);
