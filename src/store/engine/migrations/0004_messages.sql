-- One rule and one email; the content is in message_versions.
CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  app_id INTEGER NOT NULL REFERENCES apps (id),
  name TEXT NOT NULL,
  -- draft, live or paused
  status TEXT NOT NULL,
  -- for new deliveries
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX messages_by_name ON messages (app_id, name);

CREATE TABLE message_versions (
  message_id INTEGER NOT NULL REFERENCES messages (id),
  version INTEGER NOT NULL,
  -- JSON: trigger, wait, onlyIf, again, mail
  content TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (message_id, version)
) STRICT, WITHOUT ROWID;

-- One message to one person, created in the transaction of its trigger.
CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  message_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  -- null for the triggers contact created and tag added
  event_id INTEGER,
  -- deduplication key: empty = once per person; null = not deduplicated
  once_key TEXT,
  -- waiting, claimed, handed, sent, skipped, deferred, failed, unknown, bounced, complained
  state TEXT NOT NULL,
  -- time of the trigger
  triggered_at INTEGER NOT NULL,
  -- first planned time; giving up is measured from here
  planned_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  claimed_by TEXT,
  claimed_until INTEGER,
  -- right before the email's final dot
  handed_at INTEGER,
  sent_at INTEGER,
  -- 1 = an unknown outcome was resent
  resent INTEGER NOT NULL,
  -- 1 = a member sent it, bypassing the rules
  by_hand INTEGER NOT NULL,
  -- code: why it is skipped, deferred, failed or unknown
  reason TEXT,
  -- JSON: the verdict of every rule
  record TEXT,
  came_back_at INTEGER,
  opened_at INTEGER,
  updated_at INTEGER NOT NULL
) STRICT;
-- Unique among deliveries in progress or handed over; skipped ones release their key. Also finds a person's open and
-- recent deliveries.
CREATE UNIQUE INDEX deliveries_once ON deliveries (app_id, contact_id, message_id, once_key)
  WHERE (handed_at IS NOT NULL OR state NOT IN ('skipped', 'failed'));
CREATE INDEX deliveries_ended ON deliveries (contact_id) WHERE state IN ('skipped', 'failed');
-- By app, so that a paused app costs the others nothing. The last two columns are for counting.
CREATE INDEX deliveries_due ON deliveries (app_id, due_at, message_id, state) WHERE state IN ('waiting', 'deferred');
CREATE INDEX deliveries_claimed ON deliveries (claimed_until) WHERE state IN ('claimed', 'handed');
CREATE INDEX deliveries_by_message ON deliveries (message_id, state) WHERE state <> 'waiting';
CREATE INDEX deliveries_came_back ON deliveries (message_id, came_back_at) WHERE came_back_at IS NOT NULL;
CREATE INDEX deliveries_opened ON deliveries (message_id, opened_at) WHERE opened_at IS NOT NULL;

-- Emails captured instead of sent.
CREATE TABLE captured_mails (
  delivery_id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  raw TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX captured_mails_by_app ON captured_mails (app_id);

-- A keyed hash instead of the address, so that it may outlive the person's erasure.
CREATE TABLE suppressions (
  app_id INTEGER NOT NULL,
  email_hash TEXT NOT NULL,
  -- unsubscribed, bounced or complained
  reason TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (app_id, email_hash)
) STRICT, WITHOUT ROWID;

-- Sender and limits; no row = defaults.
CREATE TABLE app_mail_settings (
  app_id INTEGER PRIMARY KEY REFERENCES apps (id),
  from_name TEXT,
  from_email TEXT,
  reply_to TEXT,
  postal_address TEXT,
  logo_url TEXT,
  colour TEXT,
  -- null = the installation's
  smtp_url TEXT,
  dkim_domain TEXT,
  dkim_selector TEXT,
  dkim_key TEXT,
  -- authenticates the mail provider's bounce reports
  bounce_secret TEXT,
  per_second INTEGER,
  -- null = no limit
  per_person_day INTEGER,
  per_person_week INTEGER,
  -- JSON: days (0 = Sunday), from and until ("09:00"); null = always
  send_window TEXT,
  -- IANA name; null = UTC
  timezone TEXT,
  give_up_hours INTEGER
) STRICT;
