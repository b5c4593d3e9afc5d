-- What the last lookup of an app's SPF, DKIM and DMARC records found.
CREATE TABLE domain_checks (
  app_id INTEGER PRIMARY KEY,
  -- JSON: the sender it was about
  sender TEXT NOT NULL,
  -- JSON: a list of checks
  checks TEXT NOT NULL,
  checked_at INTEGER NOT NULL
) STRICT;
