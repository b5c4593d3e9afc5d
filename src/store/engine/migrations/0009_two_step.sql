-- TOTP codes (RFC 6238). Both tables are deleted with the member.
CREATE TABLE two_steps (
  member_id TEXT PRIMARY KEY REFERENCES members (id) ON DELETE CASCADE,
  -- base32; sealed if there is a master key
  secret TEXT NOT NULL,
  -- when the secret was created; identifies the secret
  started_at INTEGER NOT NULL,
  -- null = set-up is unfinished; sign-in ignores it
  turned_on_at INTEGER,
  -- 30-second step of the last accepted code; this and earlier codes are refused
  last_step INTEGER NOT NULL,
  -- when the recovery codes were made
  codes_made_at INTEGER NOT NULL
) STRICT;

-- Unused codes: 80 random bits, stored as SHA-256.
CREATE TABLE recovery_codes (
  member_id TEXT NOT NULL REFERENCES two_steps (member_id) ON DELETE CASCADE,
  code_hash TEXT NOT NULL,
  PRIMARY KEY (member_id, code_hash)
) STRICT, WITHOUT ROWID;

-- 1 = using the link turns two-step sign-in off
ALTER TABLE one_time_links ADD COLUMN ends_two_step INTEGER NOT NULL DEFAULT 0;
