-- When a live message with a date or inactivity as its trigger looks at people. A new one begins each time that the
-- message goes live or its trigger changes.
CREATE TABLE message_schedules (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  message_id INTEGER NOT NULL,
  -- JSON
  trigger TEXT NOT NULL,
  -- of the app, for dates without one; null where it doesn't matter
  timezone TEXT,
  -- what came before is no trigger (ms UTC)
  since_at INTEGER NOT NULL,
  -- people up to this id are scheduled
  filled_until INTEGER NOT NULL,
  -- later people are scheduled with their fields; null = all are scheduled from here
  fill_to INTEGER,
  -- its people are still to be deleted
  is_over INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX message_schedules_by_app ON message_schedules (app_id) WHERE is_over = 0;

-- When a person is looked at next (ms UTC).
CREATE TABLE scheduled_people (
  schedule_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  PRIMARY KEY (schedule_id, contact_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX scheduled_people_due ON scheduled_people (schedule_id, due_at);
