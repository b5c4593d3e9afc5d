-- Connections of an app at its mail server; null = the default.
ALTER TABLE app_mail_settings ADD COLUMN connections INTEGER;

-- When emails of an app waited because the mail server accepted no more (ms UTC). This time doesn't count towards giving up.
CREATE TABLE limit_waits (
  app_id INTEGER NOT NULL,
  from_at INTEGER NOT NULL,
  until_at INTEGER NOT NULL,
  PRIMARY KEY (app_id, from_at)
) STRICT, WITHOUT ROWID;
