-- A member is a person who signs in; memberships are their roles in accounts.
CREATE TABLE memberships (
  -- differs per account: a shared id would reveal how long the server has known the person
  id TEXT NOT NULL UNIQUE,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  member_id TEXT NOT NULL REFERENCES members (id),
  role TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- null = invited, without access
  accepted_at INTEGER,
  PRIMARY KEY (account_id, member_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_by_member ON memberships (member_id);

-- Members with a password have accepted. They keep their id, which no other account sees.
INSERT INTO memberships (id, account_id, member_id, role, created_at, accepted_at)
  SELECT id, account_id, id, role, created_at, CASE WHEN password_hash IS NOT NULL THEN created_at END FROM members;

-- For invitations, the account. For password links, the account of the owner who made it; null = the operator.
ALTER TABLE one_time_links ADD COLUMN account_id TEXT REFERENCES accounts (id);
-- Password links of people without a password were invitations.
UPDATE one_time_links
  SET purpose = 'invite', account_id = (SELECT account_id FROM members WHERE members.id = one_time_links.member_id)
  WHERE purpose = 'password' AND member_id IN (SELECT id FROM members WHERE password_hash IS NULL);

-- Other password links may be from owners and would open a person's later accounts too. They can be made again.
DELETE FROM one_time_links WHERE purpose = 'password';

DROP INDEX members_by_account;
ALTER TABLE members DROP COLUMN account_id;
ALTER TABLE members DROP COLUMN role;
