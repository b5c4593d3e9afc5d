-- What the email provider reported after it had accepted an email (ms UTC). A later report may correct an earlier one.
ALTER TABLE deliveries ADD COLUMN delivered_at INTEGER;
ALTER TABLE deliveries ADD COLUMN delayed_at INTEGER;
-- hard: for good; soft: the address may work later; blocked: for what the email is. Null: hard, if it bounced.
ALTER TABLE deliveries ADD COLUMN bounce TEXT;
ALTER TABLE deliveries ADD COLUMN bounced_at INTEGER;

CREATE INDEX deliveries_delivered ON deliveries (message_id, state) WHERE delivered_at IS NOT NULL;
CREATE INDEX deliveries_soft_bounced ON deliveries (contact_id, bounced_at) WHERE bounce = 'soft';

-- JSON: by provider, what authenticates its webhooks.
ALTER TABLE app_mail_settings ADD COLUMN hook_secrets TEXT;

-- The last webhook of each kind.
CREATE TABLE provider_reports (
  app_id INTEGER NOT NULL,
  provider TEXT NOT NULL,
  kind TEXT NOT NULL,
  reports INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (app_id, provider, kind)
) STRICT, WITHOUT ROWID;

-- Emails by the day (UTC) on which Eventpost got their trigger, like message_days.
CREATE TABLE message_reports (
  message_id INTEGER NOT NULL,
  day INTEGER NOT NULL,
  delivered INTEGER NOT NULL,
  bounced INTEGER NOT NULL,
  complained INTEGER NOT NULL,
  PRIMARY KEY (message_id, day)
) STRICT, WITHOUT ROWID;

INSERT INTO message_reports (message_id, day, delivered, bounced, complained)
SELECT message_id, (1767225600000 + id / 8192) / 86400000, 0, sum(state = 'bounced'), sum(state = 'complained')
FROM deliveries WHERE state IN ('bounced', 'complained') GROUP BY 1, 2;

CREATE TRIGGER deliveries_reported AFTER UPDATE OF state, delivered_at ON deliveries
WHEN (OLD.delivered_at IS NULL) <> (NEW.delivered_at IS NULL)
  OR OLD.state <> NEW.state AND (OLD.state IN ('bounced', 'complained') OR NEW.state IN ('bounced', 'complained'))
BEGIN
  INSERT INTO message_reports (message_id, day, delivered, bounced, complained)
  VALUES (NEW.message_id, (1767225600000 + NEW.id / 8192) / 86400000,
    (NEW.delivered_at IS NOT NULL) - (OLD.delivered_at IS NOT NULL),
    (NEW.state = 'bounced') - (OLD.state = 'bounced'),
    (NEW.state = 'complained') - (OLD.state = 'complained'))
  ON CONFLICT DO UPDATE SET delivered = delivered + excluded.delivered, bounced = bounced + excluded.bounced,
    complained = complained + excluded.complained;
END;
CREATE TRIGGER deliveries_unreported AFTER DELETE ON deliveries
WHEN OLD.delivered_at IS NOT NULL OR OLD.state IN ('bounced', 'complained')
BEGIN
  UPDATE message_reports SET delivered = delivered - (OLD.delivered_at IS NOT NULL),
    bounced = bounced - (OLD.state = 'bounced'), complained = complained - (OLD.state = 'complained')
  WHERE message_id = OLD.message_id AND day = (1767225600000 + OLD.id / 8192) / 86400000;
END;
