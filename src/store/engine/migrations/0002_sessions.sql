-- Only the SHA-256 of the cookie's 256-bit token is stored.
CREATE TABLE sessions (
  token_hash TEXT PRIMARY KEY,
  -- public id
  id TEXT NOT NULL UNIQUE,
  member_id TEXT NOT NULL REFERENCES members (id),
  -- our own description, such as "Firefox on Linux"
  browser TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- accurate to a minute
  last_seen_at INTEGER NOT NULL,
  -- when the password was last entered
  confirmed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_member ON sessions (member_id);

-- Submitted forms by their random token, so that resubmitting creates nothing twice.
CREATE TABLE sent_forms (
  form TEXT PRIMARY KEY,
  sent_at INTEGER NOT NULL
) STRICT;
