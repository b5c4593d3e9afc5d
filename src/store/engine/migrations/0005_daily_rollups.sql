-- Daily counts, so that long ranges need not sum hours. Clustered by day.
CREATE TABLE daily_rollups (
  app_id INTEGER NOT NULL,
  -- days since 1970 (UTC)
  day INTEGER NOT NULL,
  name_id INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (app_id, day, name_id)
) STRICT, WITHOUT ROWID;

INSERT INTO daily_rollups (app_id, day, name_id, count)
SELECT app_id, hour / 24, name_id, sum(count) FROM rollups GROUP BY app_id, hour / 24, name_id;
