-- Why emails of an app are to be tried again, while one write has not made all of them due. For the brake:
-- mail_brakes.is_waking.
CREATE TABLE unfinished_retries (
  app_id INTEGER NOT NULL,
  -- server, sender or limits
  cause TEXT NOT NULL,
  -- when it changed (ms UTC)
  at INTEGER NOT NULL,
  PRIMARY KEY (app_id, cause)
) STRICT, WITHOUT ROWID;
