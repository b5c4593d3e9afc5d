-- Settings of the browser script; no row = defaults.
CREATE TABLE snippet_settings (
  app_id INTEGER PRIMARY KEY REFERENCES apps (id),
  -- JSON array of hosts whose pages may report; null = any
  hosts TEXT,
  adds_people INTEGER NOT NULL
) STRICT;

-- One row per visit report of the last 48 hours. Its id detects repetitions, its last item the person's presence.
-- Rows of a person are adjacent and never updated.
CREATE TABLE snippet_batches (
  app_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  -- 53-bit hash of the report's id, which may have 64 characters
  batch INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  -- number of items, for rate limits
  items INTEGER NOT NULL,
  -- 32-bit hash of the page load; null if not given
  page_load INTEGER,
  -- last page view or leave: its age in ms on arrival, its path, 1 for a view and 0 for a leave; null = none
  age INTEGER,
  path TEXT,
  is_here INTEGER,
  PRIMARY KEY (app_id, contact_id, batch)
) STRICT, WITHOUT ROWID;
-- A covering index for filling the rate limits from the last hour at start.
CREATE INDEX snippet_batches_by_age ON snippet_batches (received_at, items);

-- Counters for the Activation page of requests that left no event. No personal data: a code and a site's origin.
CREATE TABLE activation_notes (
  app_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  count INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  -- of the latest
  reason TEXT,
  origin TEXT,
  PRIMARY KEY (app_id, kind)
) STRICT, WITHOUT ROWID;

-- Finds the app whose pages load the script.
CREATE INDEX app_hosts_by_host ON app_hosts (host);
