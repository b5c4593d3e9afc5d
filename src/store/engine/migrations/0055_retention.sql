-- How many days an app keeps its data; null = until the person is erased. No row = the defaults.
CREATE TABLE app_retention (
  app_id INTEGER PRIMARY KEY REFERENCES apps (id),
  event_days INTEGER,
  page_view_days INTEGER,
  captured_days INTEGER
) STRICT;

-- How far an app's events have been looked at for deletion.
CREATE TABLE expiry_progress (
  app_id INTEGER NOT NULL,
  -- 0 events and actions, 1 page views
  kind INTEGER NOT NULL,
  -- ids of events
  looked_until INTEGER NOT NULL,
  -- the last one that was deleted; 0 = none
  deleted_until INTEGER NOT NULL,
  PRIMARY KEY (app_id, kind)
) STRICT, WITHOUT ROWID;

-- Events that stay longer, because an email to their person is not finished.
CREATE TABLE needed_events (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL
) STRICT;

-- When the deleted events of a person happened (ms UTC), so that the first and last times of people stay.
CREATE TABLE expired_activity (
  contact_id INTEGER PRIMARY KEY,
  first_view_at INTEGER,
  last_view_at INTEGER,
  last_event_at INTEGER,
  last_action_at INTEGER
) STRICT;

CREATE TRIGGER expired_activity_erased AFTER DELETE ON contacts BEGIN
  DELETE FROM expired_activity WHERE contact_id = old.id;
END;
