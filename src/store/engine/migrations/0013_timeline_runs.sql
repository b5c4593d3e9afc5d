-- Under load, some thousand rows are sorted into a run of their own, and the timeline merges many runs later. A run
-- contains all rows after the previous run up to its last id.
CREATE TABLE timeline_runs (
  last INTEGER PRIMARY KEY,
  -- 0 while it is being written
  is_whole INTEGER NOT NULL
) STRICT;
CREATE TABLE timeline_run_rows (
  run INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  type INTEGER NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (run, contact_id, type, id)
) STRICT, WITHOUT ROWID;
-- the timeline is complete up to here; finished runs continue to timeline_until
INSERT INTO install SELECT 'timeline_merged_until', value FROM install WHERE name = 'timeline_until';
