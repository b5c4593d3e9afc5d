-- Emails of an app by the day (UTC) on which a mail server got them.
CREATE TABLE mail_days (
  app_id INTEGER NOT NULL,
  day INTEGER NOT NULL,
  -- with those that were refused, because the mailbox doesn't exist
  sent INTEGER NOT NULL,
  -- for good
  bounced INTEGER NOT NULL,
  complained INTEGER NOT NULL,
  PRIMARY KEY (app_id, day)
) STRICT, WITHOUT ROWID;

INSERT INTO mail_days (app_id, day, sent, bounced, complained)
SELECT app_id, handed_at / 86400000, count(*), sum(state = 'bounced' AND ifnull(bounce, 'hard') = 'hard'),
  sum(state = 'complained')
FROM deliveries
WHERE state IN ('sent', 'unknown', 'bounced', 'complained') AND handed_at IS NOT NULL AND joined_to IS NULL
GROUP BY 1, 2;

CREATE TRIGGER mail_sent AFTER UPDATE OF state ON deliveries
WHEN NEW.state IN ('sent', 'unknown', 'bounced', 'complained') AND OLD.state NOT IN ('sent', 'unknown', 'bounced', 'complained')
  AND NEW.handed_at IS NOT NULL AND NEW.joined_to IS NULL
BEGIN
  INSERT INTO mail_days (app_id, day, sent, bounced, complained) VALUES (NEW.app_id, NEW.handed_at / 86400000, 1, 0, 0)
  ON CONFLICT DO UPDATE SET sent = sent + 1;
END;
CREATE TRIGGER mail_refused AFTER UPDATE OF state ON deliveries
WHEN NEW.state = 'failed' AND NEW.reason = 'no_mailbox' AND OLD.state <> 'failed' AND NEW.joined_to IS NULL
BEGIN
  INSERT INTO mail_days (app_id, day, sent, bounced, complained) VALUES (NEW.app_id, NEW.updated_at / 86400000, 1, 1, 0)
  ON CONFLICT DO UPDATE SET sent = sent + 1, bounced = bounced + 1;
END;
-- The state of a bounce is written before its kind.
CREATE TRIGGER mail_reported AFTER UPDATE OF state, bounce ON deliveries
WHEN NEW.handed_at IS NOT NULL AND NEW.joined_to IS NULL AND (
  (OLD.state = 'complained') <> (NEW.state = 'complained')
  OR (OLD.state = 'bounced' AND ifnull(OLD.bounce, 'hard') = 'hard') <> (NEW.state = 'bounced' AND ifnull(NEW.bounce, 'hard') = 'hard'))
BEGIN
  INSERT INTO mail_days (app_id, day, sent, bounced, complained) VALUES (NEW.app_id, NEW.handed_at / 86400000, 0,
    (NEW.state = 'bounced' AND ifnull(NEW.bounce, 'hard') = 'hard') - (OLD.state = 'bounced' AND ifnull(OLD.bounce, 'hard') = 'hard'),
    (NEW.state = 'complained') - (OLD.state = 'complained'))
  ON CONFLICT DO UPDATE SET bounced = bounced + excluded.bounced, complained = complained + excluded.complained;
  UPDATE mail_brakes SET
    base_bounced = base_bounced + (NEW.state = 'bounced' AND ifnull(NEW.bounce, 'hard') = 'hard') - (OLD.state = 'bounced' AND ifnull(OLD.bounce, 'hard') = 'hard'),
    base_complained = base_complained + (NEW.state = 'complained') - (OLD.state = 'complained')
  WHERE app_id = NEW.app_id AND released_at > NEW.handed_at AND released_at / 86400000 = NEW.handed_at / 86400000;
END;

-- Lifecycle emails of an app wait while too many of its emails bounce or are reported as spam.
CREATE TABLE mail_brakes (
  app_id INTEGER PRIMARY KEY,
  -- ms UTC; null while it is off
  since INTEGER,
  -- complaints or bounces, and their number among the emails that were counted; null before the first time
  kind TEXT,
  failures INTEGER,
  emails INTEGER,
  -- it is off, but emails that waited for it are not due yet
  is_waking INTEGER NOT NULL DEFAULT 0,
  -- when a member released it last (ms UTC), and the emails of that day before, whenever they are reported: only later
  -- emails count since
  released_at INTEGER,
  base_sent INTEGER NOT NULL DEFAULT 0,
  base_bounced INTEGER NOT NULL DEFAULT 0,
  base_complained INTEGER NOT NULL DEFAULT 0
) STRICT;

-- When the brake was on (ms UTC). This time doesn't count towards giving up lifecycle emails.
CREATE TABLE brake_waits (
  app_id INTEGER NOT NULL,
  from_at INTEGER NOT NULL,
  until_at INTEGER NOT NULL,
  PRIMARY KEY (app_id, from_at)
) STRICT, WITHOUT ROWID;

-- Percent; null = the default.
ALTER TABLE app_mail_settings ADD COLUMN complaint_limit REAL;
ALTER TABLE app_mail_settings ADD COLUMN bounce_limit REAL;
