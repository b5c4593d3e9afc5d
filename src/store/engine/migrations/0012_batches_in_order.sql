-- Stores visit reports in order of arrival, with ids like events; the timeline finds those of a person. Clustering
-- them by person would change a page per report.
CREATE TABLE arrived_batches (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  -- 53-bit hash of the report's id, which may have 64 characters
  batch INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  -- number of items, for rate limits
  items INTEGER NOT NULL,
  -- 32-bit hash of the page load, and the position in it; null if not given
  page_load INTEGER,
  batch_number INTEGER,
  -- last page view or leave: its age in ms on arrival, its path, 1 for a view and 0 for a leave; null = none
  age INTEGER,
  path TEXT,
  is_here INTEGER,
  -- type in the timeline, above those of events (0 to 2); contains part of the hash to find repetitions
  type INTEGER GENERATED ALWAYS AS (3 + (batch & 65535)) VIRTUAL
) STRICT;
-- similar to ids.ts, but odd, unlike ids of people and events, so that no two rows share an id
INSERT INTO arrived_batches (id, app_id, contact_id, batch, received_at, items, page_load, batch_number, age, path, is_here)
  SELECT max(received_at - 1767225600000, 0) * 8192 + 2 * row_number() OVER (ORDER BY received_at) + 1,
    app_id, contact_id, batch, received_at, items, page_load, batch_number, age, path, is_here
  FROM snippet_batches ORDER BY received_at;
DROP TABLE snippet_batches;
ALTER TABLE arrived_batches RENAME TO snippet_batches;

ALTER TABLE timeline RENAME COLUMN event_id TO id;
INSERT INTO timeline
  SELECT contact_id, type, id FROM snippet_batches
  WHERE id <= (SELECT CAST(value AS INTEGER) FROM install WHERE name = 'timeline_until') ORDER BY contact_id, type, id;
