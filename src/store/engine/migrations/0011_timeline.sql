-- Who did what of which type: the index of a person's events, and all that is in it. It is filled some thousand events at
-- a time, in its own order, up to the event that install.timeline_until names; those after it are found in events itself.
CREATE TABLE timeline (
  contact_id INTEGER NOT NULL,
  type INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  PRIMARY KEY (contact_id, type, event_id)
) STRICT, WITHOUT ROWID;
INSERT INTO timeline SELECT contact_id, type, id FROM events ORDER BY contact_id, type, id;
INSERT INTO install SELECT 'timeline_until', ifnull(max(id), 0) FROM events;
DROP INDEX events_by_contact;
