-- Times are ms UTC; the service makes ids. Every table of a tenant has account_id or app_id.

CREATE TABLE accounts (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  -- null = unlimited
  new_people_per_month INTEGER,
  -- null = default limit
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
  -- argon2id; null until set by the one-time link
  password_hash TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX members_by_account ON members (account_id);

-- For setting up the first account and setting passwords.
CREATE TABLE one_time_links (
  token_hash TEXT PRIMARY KEY,
  purpose TEXT NOT NULL,
  member_id TEXT REFERENCES members (id),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE apps (
  -- small, because every event has it
  id INTEGER PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  public_id TEXT NOT NULL UNIQUE,
  site_id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  home_url TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX apps_by_account ON apps (account_id);

-- Hosts that belong to the customer.
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
  -- SHA-256 of the key; the key itself is not stored
  key_hash TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  revoked_at INTEGER,
  -- last request with this key and a browser's headers
  seen_in_browser_at INTEGER
) STRICT;
CREATE INDEX api_keys_by_account ON api_keys (account_id);

CREATE TABLE identity_secrets (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  secret TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- null = current; retired secrets work for 24 hours
  retired_at INTEGER
) STRICT;
CREATE INDEX identity_secrets_by_account ON identity_secrets (account_id);

CREATE TABLE contacts (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  -- trimmed, lowercase, domain in punycode; identifies the person
  email TEXT NOT NULL,
  -- as entered, if different
  shown_email TEXT,
  first_name TEXT,
  last_name TEXT,
  source TEXT,
  status TEXT NOT NULL,
  -- JSON array and JSON object; null if empty
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

-- Events store the small id instead of the name.
CREATE TABLE event_names (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  UNIQUE (app_id, name)
) STRICT;

CREATE TABLE events (
  -- in commit order, so that sorting by id descending is newest first and a cursor misses nothing
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
  -- null = received_at, which saves space
  occurred_at INTEGER
) STRICT;
-- Both indexes end with the rowid: (contact_id, type, id) is a person's timeline with first and last seen times;
-- (app_id, id) finds an app's newest events.
CREATE INDEX events_by_contact ON events (contact_id, type);
CREATE INDEX events_by_app ON events (app_id);

-- Hourly counts, so that no page scans events. The first and last id locate events of a name.
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

-- By account and calendar month (UTC, such as 2026-05), for the plan's limit.
CREATE TABLE new_people (
  account_id TEXT NOT NULL,
  month TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (account_id, month)
) STRICT, WITHOUT ROWID;

-- Usage of rate limits by second, committed with the writes, so that a restart does not refill them.
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
  -- JSON, replayed for a repeated request
  outcome TEXT NOT NULL,
  -- for erasing a person
  contact_id INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (key_id, idempotency_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_records_by_contact ON idempotency_records (contact_id);
CREATE INDEX idempotency_records_by_age ON idempotency_records (created_at);

CREATE TABLE audit_entries (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  -- "cli", a key id or a member id
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_entries_by_account ON audit_entries (account_id, created_at);

-- Values of this installation, such as the key of the address hashes.
CREATE TABLE install (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
