-- Index of people's events. Filled in batches of some thousand events, sorted, up to the event id in
-- install.timeline_until; later events are read from the events table.
CREATE TABLE timeline (
  contact_id INTEGER NOT NULL,
  type INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  PRIMARY KEY (contact_id, type, event_id)
) STRICT, WITHOUT ROWID;
INSERT INTO timeline SELECT contact_id, type, id FROM events ORDER BY contact_id, type, id;
INSERT INTO install SELECT 'timeline_until', ifnull(max(id), 0) FROM events;
DROP INDEX events_by_contact;
