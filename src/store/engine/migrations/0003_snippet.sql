-- What an app's owner has set about the browser script; no row = the defaults.
CREATE TABLE snippet_settings (
  app_id INTEGER PRIMARY KEY REFERENCES apps (id),
  -- JSON array of the hosts whose pages may report; null = any
  hosts TEXT,
  adds_people INTEGER NOT NULL
) STRICT;

-- Every batch that a browser sent in the last 48 hours, one row each: by its id a repetition is known, by what it
-- reported last it is known whether the person is here. Rows of a person lie side by side and are never changed.
CREATE TABLE snippet_batches (
  app_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  -- 53 bits of a hash of the sender's id, which may be 64 characters long
  batch INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  -- how many items it held: what the limits counted
  items INTEGER NOT NULL,
  -- 32 bits of a hash of the page load it came from; null = its id names none
  page_load INTEGER,
  -- its last page view or leave: milliseconds before it was received, path, 1 for a view and 0 for a leave; null = none
  age INTEGER,
  path TEXT,
  is_here INTEGER,
  PRIMARY KEY (app_id, contact_id, batch)
) STRICT, WITHOUT ROWID;
-- With the sizes and, by its end, whose they are: at start the limits are filled from the last hour of it alone.
CREATE INDEX snippet_batches_by_age ON snippet_batches (received_at, items);

-- What went by without leaving an event, counted for the Activation screen. Nobody's data: a code and a site's origin.
CREATE TABLE activation_notes (
  app_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  count INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  -- of the last one
  reason TEXT,
  origin TEXT,
  PRIMARY KEY (app_id, kind)
) STRICT, WITHOUT ROWID;

-- Finds the app on whose pages the script is loaded.
CREATE INDEX app_hosts_by_host ON app_hosts (host);
