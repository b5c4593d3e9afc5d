-- The second step of signing in, a code of an app on a phone (RFC 6238), of those who want one. Both tables go with their
-- member.
CREATE TABLE two_steps (
  member_id TEXT PRIMARY KEY REFERENCES members (id) ON DELETE CASCADE,
  -- base32; sealed where there is a master key
  secret TEXT NOT NULL,
  -- when the secret was made, which tells it from one before
  started_at INTEGER NOT NULL,
  -- null = it is being set up, and asked of nobody
  turned_on_at INTEGER,
  -- the last 30 seconds of which a code was taken: neither theirs nor an older one is taken again
  last_step INTEGER NOT NULL,
  -- when the recovery codes were made
  codes_made_at INTEGER NOT NULL
) STRICT;

-- Those that were not used yet. Each has 80 random bits and is kept as its SHA-256 only.
CREATE TABLE recovery_codes (
  member_id TEXT NOT NULL REFERENCES two_steps (member_id) ON DELETE CASCADE,
  code_hash TEXT NOT NULL,
  PRIMARY KEY (member_id, code_hash)
) STRICT, WITHOUT ROWID;

-- Whether using the link turns the second step off.
ALTER TABLE one_time_links ADD COLUMN ends_two_step INTEGER NOT NULL DEFAULT 0;
