-- An app may send from several domains. Records are looked up again on request.
DROP TABLE domain_checks;

-- Of the domain of a sender address.
CREATE TABLE domain_checks (
  app_id INTEGER NOT NULL,
  domain TEXT NOT NULL,
  -- JSON: what was checked (accounts/sender-checks.ts)
  sender TEXT NOT NULL,
  -- JSON
  checks TEXT NOT NULL,
  checked_at INTEGER NOT NULL,
  PRIMARY KEY (app_id, domain)
) STRICT, WITHOUT ROWID;

-- What the source of a received email showed, by the domain of its sender.
CREATE TABLE received_mails (
  app_id INTEGER NOT NULL,
  domain TEXT NOT NULL,
  -- JSON (accounts/received-mail.ts)
  seen TEXT NOT NULL,
  -- ms UTC
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (app_id, domain)
) STRICT, WITHOUT ROWID;
