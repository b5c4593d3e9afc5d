-- Batches of the browser script lie in the order in which they came, numbered like events, and the timeline finds those of
-- a person: a row with each batch at its person's place would change a page of its own.
CREATE TABLE arrived_batches (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  -- 53 bits of a hash of the sender's id, which may be 64 characters long
  batch INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  -- how many items it held: what the limits counted
  items INTEGER NOT NULL,
  -- 32 bits of a hash of the page load it came from, and which batch of it it was; null = its id does not say
  page_load INTEGER,
  batch_number INTEGER,
  -- its last page view or leave: milliseconds before it was received, path, 1 for a view and 0 for a leave; null = none
  age INTEGER,
  path TEXT,
  is_here INTEGER,
  -- as what it stands in the timeline, beside the types of events, which end at 2: a part of the hash finds a repetition
  type INTEGER GENERATED ALWAYS AS (3 + (batch & 65535)) VIRTUAL
) STRICT;
-- about as ids.ts makes them, but odd, which those of people and events never are: no two rows share an id
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
