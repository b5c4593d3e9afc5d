-- What comes fast is put in order in runs of some thousand, each written by itself, one page after another; the timeline
-- takes them up later, many at once. A run holds all between the one before it and its last id.
CREATE TABLE timeline_runs (
  last INTEGER PRIMARY KEY,
  -- 0 while it is written
  is_whole INTEGER NOT NULL
) STRICT;
CREATE TABLE timeline_run_rows (
  run INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  type INTEGER NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (run, contact_id, type, id)
) STRICT, WITHOUT ROWID;
-- up to where the timeline itself has all; whole runs go on from there to timeline_until
INSERT INTO install SELECT 'timeline_merged_until', value FROM install WHERE name = 'timeline_until';
