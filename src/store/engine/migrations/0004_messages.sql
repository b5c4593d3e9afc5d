-- A message is one rule and one mail. What it says stands in its versions.
CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  app_id INTEGER NOT NULL REFERENCES apps (id),
  name TEXT NOT NULL,
  -- draft, live or paused
  status TEXT NOT NULL,
  -- the one that new deliveries use
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

-- One message to one person, written in the transaction of what triggered it.
CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  message_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  -- what triggered it; null for a contact that was created and a tag that was added
  event_id INTEGER,
  -- for what a person is written to once: empty for once at all; null = it may come again
  once_key TEXT,
  -- waiting, claimed, handed, sent, skipped, deferred, failed, unknown, bounced, complained
  state TEXT NOT NULL,
  -- when what triggered it happened
  triggered_at INTEGER NOT NULL,
  -- when it was first to be sent: giving up is measured from here
  planned_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  claimed_by TEXT,
  claimed_until INTEGER,
  -- just before the mail's final dot
  handed_at INTEGER,
  sent_at INTEGER,
  -- 1 = an unknown outcome was sent again already
  resent INTEGER NOT NULL,
  -- 1 = a member sent it on, whatever the rules say
  by_hand INTEGER NOT NULL,
  -- a code: why it is skipped, deferred, failed or unknown
  reason TEXT,
  -- JSON: every rule with its value and verdict
  record TEXT,
  came_back_at INTEGER,
  opened_at INTEGER,
  updated_at INTEGER NOT NULL
) STRICT;
-- "Once" is this key: what is on its way or was handed over uses it up, what was skipped gives it back. It leads to what
-- is open for a person, and to what they got lately.
CREATE UNIQUE INDEX deliveries_once ON deliveries (app_id, contact_id, message_id, once_key)
  WHERE (handed_at IS NOT NULL OR state NOT IN ('skipped', 'failed'));
CREATE INDEX deliveries_ended ON deliveries (contact_id) WHERE state IN ('skipped', 'failed');
-- By app, so that one which is held back, however much waits in it, costs the others nothing. The rest is for counting.
CREATE INDEX deliveries_due ON deliveries (app_id, due_at, message_id, state) WHERE state IN ('waiting', 'deferred');
CREATE INDEX deliveries_claimed ON deliveries (claimed_until) WHERE state IN ('claimed', 'handed');
CREATE INDEX deliveries_by_message ON deliveries (message_id, state) WHERE state <> 'waiting';
CREATE INDEX deliveries_came_back ON deliveries (message_id, came_back_at) WHERE came_back_at IS NOT NULL;
CREATE INDEX deliveries_opened ON deliveries (message_id, opened_at) WHERE opened_at IS NOT NULL;

-- What the capture provider kept instead of sending.
CREATE TABLE captured_mails (
  delivery_id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  raw TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX captured_mails_by_app ON captured_mails (app_id);

-- Who is not written to. A keyed hash and no address, so that it may outlive the person's erasure.
CREATE TABLE suppressions (
  app_id INTEGER NOT NULL,
  email_hash TEXT NOT NULL,
  -- unsubscribed, bounced or complained
  reason TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (app_id, email_hash)
) STRICT, WITHOUT ROWID;

-- Sender and limits of an app; no row = the defaults.
CREATE TABLE app_mail_settings (
  app_id INTEGER PRIMARY KEY REFERENCES apps (id),
  from_name TEXT,
  from_email TEXT,
  reply_to TEXT,
  postal_address TEXT,
  logo_url TEXT,
  colour TEXT,
  -- null = the one of the installation
  smtp_url TEXT,
  dkim_domain TEXT,
  dkim_selector TEXT,
  dkim_key TEXT,
  -- signs what a mail provider reports later
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
