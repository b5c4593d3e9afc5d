-- Additional sender addresses that messages may use, as a JSON array; from_email is the default.
ALTER TABLE app_mail_settings ADD COLUMN other_from_emails TEXT;

-- Domains that an account may use with the installation's mail server, when several accounts share it.
CREATE TABLE sender_domains (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  domain TEXT NOT NULL,
  -- txt or dkim: found in DNS; operator: bound by a command; existing: in use before a second account was added
  proof TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, domain)
) STRICT, WITHOUT ROWID;

CREATE INDEX sender_domains_by_domain ON sender_domains (domain);

-- Senders set by messages, in the current version or one that a delivery waits with or was captured with.
-- Not from drafts: editors could enter any address there, and nothing was sent.
INSERT INTO app_mail_settings (app_id, other_from_emails)
SELECT app_id, json_group_array(email) FROM (
  SELECT DISTINCT messages.app_id, lower(trim(json_extract(content, '$.mail.fromEmail'))) AS email
  FROM messages JOIN message_versions ON message_id = messages.id
  WHERE json_extract(content, '$.mail.fromEmail') IS NOT NULL AND (
    (message_versions.version = messages.version AND messages.status <> 'draft')
    OR (message_id, message_versions.version) IN
      (SELECT message_id, version FROM deliveries WHERE state IN ('waiting', 'deferred'))
    OR (message_id, message_versions.version) IN
      (SELECT message_id, version FROM deliveries WHERE state <> 'waiting' AND state = 'kept')))
WHERE true
GROUP BY app_id
ON CONFLICT (app_id) DO UPDATE SET other_from_emails = excluded.other_from_emails;

-- Each domain in use goes to the oldest account; the service lists the others at start.
INSERT INTO sender_domains (account_id, domain, proof, created_at)
SELECT account_id, domain, 'existing', CAST(unixepoch('subsec') * 1000 AS INTEGER) FROM (
  SELECT apps.account_id, substr(email, instr(email, '@') + 1) AS domain,
    row_number() OVER (
      PARTITION BY substr(email, instr(email, '@') + 1) ORDER BY accounts.created_at, accounts.id) AS place
  FROM (
    SELECT app_id, lower(from_email) AS email FROM app_mail_settings WHERE from_email IS NOT NULL
    UNION
    SELECT app_id, value FROM app_mail_settings, json_each(other_from_emails))
  JOIN apps ON apps.id = app_id JOIN accounts ON accounts.id = account_id)
WHERE place = 1;
