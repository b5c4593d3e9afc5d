-- Null without a name. Virtual, so they take no space in the row.
ALTER TABLE contacts ADD COLUMN full_name TEXT
  GENERATED ALWAYS AS (nullif(trim(ifnull(first_name, '') || ' ' || ifnull(last_name, '')), '')) VIRTUAL;
ALTER TABLE contacts ADD COLUMN sort_name TEXT GENERATED ALWAYS AS (lower(substr(full_name, 1, 80))) VIRTUAL;
CREATE INDEX contacts_by_name ON contacts (app_id, sort_name);
CREATE INDEX contacts_by_status ON contacts (app_id, status) WHERE status <> 'subscribed';

-- Any part of a name, from three characters on. Contentless, so a name is stored once; secure-delete, so that nothing
-- is left of an erased one. `app` is one trigram, so that a search reads no names of other apps.
CREATE VIRTUAL TABLE contact_names USING fts5 (
  app, name, content = '', columnsize = 0, tokenize = 'trigram remove_diacritics 1');
INSERT INTO contact_names (contact_names, rank) VALUES ('secure-delete', 1);

CREATE TABLE contact_fields (
  app_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  -- as text
  value TEXT NOT NULL,
  contact_id INTEGER NOT NULL,
  PRIMARY KEY (app_id, name, value, contact_id)
) STRICT, WITHOUT ROWID;

-- The last page view; 0 = never. Filled after the commit of the page view.
CREATE TABLE contact_activity (
  contact_id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT;
CREATE INDEX contact_activity_by_seen ON contact_activity (app_id, seen_at);

-- Who did what: one row however often. Filled after the commit of the event.
CREATE TABLE contact_events (
  name_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  PRIMARY KEY (name_id, contact_id)
) STRICT, WITHOUT ROWID;

-- What is indexed by now, and what there was when this migration ran.
CREATE TABLE contact_index_progress (
  part TEXT PRIMARY KEY,
  done_until INTEGER NOT NULL,
  there_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO contact_index_progress
  SELECT 'contacts', 0, ifnull(max(id), 0) FROM contacts
  UNION ALL SELECT 'seen', 0, ifnull(max(id), 0) FROM contacts
  UNION ALL SELECT 'events', 0, ifnull(max(id), 0) FROM events;

CREATE TRIGGER contact_names_added AFTER INSERT ON contacts WHEN new.full_name IS NOT NULL BEGIN
  INSERT INTO contact_names (rowid, app, name) VALUES (
    new.id, char(19968 + new.app_id / 64000000 % 8000, 19968 + new.app_id / 8000 % 8000, 19968 + new.app_id % 8000),
    new.full_name);
END;

CREATE TRIGGER contact_names_left AFTER UPDATE OF first_name, last_name ON contacts
WHEN old.full_name IS NOT NULL AND old.full_name IS NOT new.full_name AND NOT EXISTS (
  SELECT 1 FROM contact_index_progress WHERE part = 'contacts' AND old.id > done_until AND old.id <= there_until)
BEGIN
  INSERT INTO contact_names (contact_names, rowid, app, name) VALUES (
    'delete', old.id,
    char(19968 + old.app_id / 64000000 % 8000, 19968 + old.app_id / 8000 % 8000, 19968 + old.app_id % 8000),
    old.full_name);
END;

CREATE TRIGGER contact_names_changed AFTER UPDATE OF first_name, last_name ON contacts
WHEN new.full_name IS NOT NULL AND old.full_name IS NOT new.full_name AND NOT EXISTS (
  SELECT 1 FROM contact_index_progress WHERE part = 'contacts' AND old.id > done_until AND old.id <= there_until)
BEGIN
  INSERT INTO contact_names (rowid, app, name) VALUES (
    new.id, char(19968 + new.app_id / 64000000 % 8000, 19968 + new.app_id / 8000 % 8000, 19968 + new.app_id % 8000),
    new.full_name);
END;

CREATE TRIGGER contact_fields_changed AFTER UPDATE OF fields ON contacts WHEN old.fields IS NOT new.fields BEGIN
  DELETE FROM contact_fields WHERE (app_id, name, value, contact_id) IN (
    SELECT old.app_id, key, iif(type IN ('true', 'false'), type, CAST(value AS TEXT)), old.id FROM json_each(old.fields));
  INSERT OR IGNORE INTO contact_fields
    SELECT new.app_id, key, iif(type IN ('true', 'false'), type, CAST(value AS TEXT)), new.id FROM json_each(new.fields);
END;

CREATE TRIGGER contact_index_erased AFTER DELETE ON contacts BEGIN
  INSERT INTO contact_names (contact_names, rowid, app, name)
    SELECT 'delete', old.id,
      char(19968 + old.app_id / 64000000 % 8000, 19968 + old.app_id / 8000 % 8000, 19968 + old.app_id % 8000),
      old.full_name
    WHERE old.full_name IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM contact_index_progress WHERE part = 'contacts' AND old.id > done_until AND old.id <= there_until);
  DELETE FROM contact_fields WHERE (app_id, name, value, contact_id) IN (
    SELECT old.app_id, key, iif(type IN ('true', 'false'), type, CAST(value AS TEXT)), old.id FROM json_each(old.fields));
  DELETE FROM contact_activity WHERE contact_id = old.id;
END;
