-- Who is signed in where. The cookie's token has 256 bits and is kept as its SHA-256 only.
CREATE TABLE sessions (
  token_hash TEXT PRIMARY KEY,
  -- what the list of sessions calls it
  id TEXT NOT NULL UNIQUE,
  member_id TEXT NOT NULL REFERENCES members (id),
  -- such as "Firefox on Linux", in words of our own
  browser TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- within a minute
  last_seen_at INTEGER NOT NULL,
  -- when the password was last typed
  confirmed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_member ON sessions (member_id);

-- Forms that make something, by the random text each one carries: sent again, by a reload, it makes nothing more.
CREATE TABLE sent_forms (
  form TEXT PRIMARY KEY,
  sent_at INTEGER NOT NULL
) STRICT;
