-- Times are milliseconds UTC, ids are made by the service. Every tenant table carries account_id or app_id.

CREATE TABLE accounts (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  -- null = unlimited
  new_people_per_month INTEGER,
  -- null = the specification's limit
  events_per_hour INTEGER,
  adds_per_hour INTEGER,
  updates_per_hour INTEGER,
  mcp_calls_per_minute INTEGER,
  snippet_limits INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE members (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  email TEXT NOT NULL UNIQUE,
  role TEXT NOT NULL,
  -- argon2id; null until the one-time link has set one
  password_hash TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX members_by_account ON members (account_id);

-- Links that work once: set up the first account, set a member's password.
CREATE TABLE one_time_links (
  token_hash TEXT PRIMARY KEY,
  purpose TEXT NOT NULL,
  member_id TEXT REFERENCES members (id),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE apps (
  -- small, because every event carries it
  id INTEGER PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  public_id TEXT NOT NULL UNIQUE,
  site_id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  home_url TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX apps_by_account ON apps (account_id);

-- The hosts that count as the customer's own domain.
CREATE TABLE app_hosts (
  app_id INTEGER NOT NULL REFERENCES apps (id),
  host TEXT NOT NULL,
  PRIMARY KEY (app_id, host)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL,
  scope TEXT NOT NULL,
  -- SHA-256 of the printed key, which itself is stored nowhere
  key_hash TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  revoked_at INTEGER,
  -- when a request with this key last carried a browser's headers
  seen_in_browser_at INTEGER
) STRICT;
CREATE INDEX api_keys_by_account ON api_keys (account_id);

CREATE TABLE identity_secrets (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  secret TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- null = current; one rotated out keeps working for 24 hours
  retired_at INTEGER
) STRICT;
CREATE INDEX identity_secrets_by_account ON identity_secrets (account_id);

CREATE TABLE contacts (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  -- the identity: trimmed, lowercased, domain in punycode
  email TEXT NOT NULL,
  -- as it was sent, where that differs
  shown_email TEXT,
  first_name TEXT,
  last_name TEXT,
  source TEXT,
  status TEXT NOT NULL,
  -- JSON array and object; null when empty
  tags TEXT,
  fields TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX contacts_by_email ON contacts (app_id, email);
-- (app_id, id): the newest people of an app
CREATE INDEX contacts_by_app ON contacts (app_id);
CREATE INDEX contacts_by_update ON contacts (app_id, updated_at);

CREATE TABLE contact_tags (
  app_id INTEGER NOT NULL,
  tag TEXT NOT NULL,
  contact_id INTEGER NOT NULL,
  PRIMARY KEY (app_id, tag, contact_id)
) STRICT, WITHOUT ROWID;

-- Names are stored once, so that an event carries a small number.
CREATE TABLE event_names (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  UNIQUE (app_id, name)
) STRICT;

CREATE TABLE events (
  -- made in the order of commits, so "newest first" is "id descending" and a cursor misses nothing
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  name_id INTEGER NOT NULL,
  -- 0 event, 1 page view, 2 action
  type INTEGER NOT NULL,
  -- 0 api, 1 browser, 2 mcp, 3 import
  via INTEGER NOT NULL,
  -- compact JSON
  properties TEXT,
  path TEXT,
  received_at INTEGER NOT NULL,
  -- null = when it was received, which costs no byte
  occurred_at INTEGER
) STRICT;
-- Both end in the rowid: (contact_id, type, id) is a person's timeline and answers when they were first and last seen
-- and had their last event, (app_id, id) the newest events of an app.
CREATE INDEX events_by_contact ON events (contact_id, type);
CREATE INDEX events_by_app ON events (app_id);

-- Counts by hour, so that no page scans raw events. first and last id lead a search by name to the right stretch.
CREATE TABLE rollups (
  app_id INTEGER NOT NULL,
  name_id INTEGER NOT NULL,
  -- hours since 1970
  hour INTEGER NOT NULL,
  count INTEGER NOT NULL,
  first_event_id INTEGER NOT NULL,
  last_event_id INTEGER NOT NULL,
  PRIMARY KEY (app_id, name_id, hour)
) STRICT, WITHOUT ROWID;

-- New people by account and calendar month (UTC, "2026-05"): what the plan limits.
CREATE TABLE new_people (
  account_id TEXT NOT NULL,
  month TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (account_id, month)
) STRICT, WITHOUT ROWID;

-- What the limits counted, by second and in the commit of the write itself, so that no restart gives tokens back.
CREATE TABLE limit_usage (
  bucket TEXT NOT NULL,
  second INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (bucket, second)
) STRICT, WITHOUT ROWID;
CREATE INDEX limit_usage_by_second ON limit_usage (second);

CREATE TABLE idempotency_records (
  key_id TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  -- the outcome as JSON, from which the same answer is made again
  outcome TEXT NOT NULL,
  -- so that erasing a person finds the answers that hold them
  contact_id INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (key_id, idempotency_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_records_by_contact ON idempotency_records (contact_id);
CREATE INDEX idempotency_records_by_age ON idempotency_records (created_at);

CREATE TABLE audit_entries (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  -- who: "cli", a key id, a member id
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_entries_by_account ON audit_entries (account_id, created_at);

-- Facts of this installation: keys that blind addresses.
CREATE TABLE install (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
