-- Double opt-in: null = off. JSON.
ALTER TABLE app_mail_settings ADD COLUMN opt_in TEXT;

-- Requests to confirm an address, and the confirmations.
CREATE TABLE consents (
  -- that of the delivery which asks
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  asked_at INTEGER NOT NULL,
  -- api, mcp, dashboard; page: the person, after a link expired
  source TEXT NOT NULL,
  -- a version of consent_wordings
  wording TEXT NOT NULL,
  -- by the link in this email
  confirmed_at INTEGER,
  -- of who confirmed; null: the app doesn't store it
  address TEXT
) STRICT;
CREATE INDEX consents_by_contact ON consents (contact_id, id);
CREATE INDEX consents_confirmed ON consents (app_id, confirmed_at) WHERE confirmed_at IS NOT NULL;

-- What people were asked. Versions are hashes.
CREATE TABLE consent_wordings (
  app_id INTEGER NOT NULL,
  version TEXT NOT NULL,
  subject TEXT NOT NULL,
  body TEXT NOT NULL,
  button TEXT NOT NULL,
  PRIMARY KEY (app_id, version)
) STRICT, WITHOUT ROWID;

-- No API key sends an email that asks for consent.
CREATE TABLE sends_of_any (
  delivery_id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  -- the API key; null: it asks for consent
  key_id TEXT,
  -- JSON
  properties TEXT,
  -- JSON of the subject, the body and so on; null: those of the message
  mail TEXT
) STRICT;
INSERT INTO sends_of_any SELECT * FROM sends;
DROP TABLE sends;
ALTER TABLE sends_of_any RENAME TO sends;
