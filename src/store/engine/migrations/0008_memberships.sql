-- A person signs in once and may belong to several accounts: members is who signs in, memberships what they may do where.
CREATE TABLE memberships (
  -- by which the account knows the person, another one in each: that of the person would tell since when the server knows them
  id TEXT NOT NULL UNIQUE,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  member_id TEXT NOT NULL REFERENCES members (id),
  role TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- null = invited, which gives no access
  accepted_at INTEGER,
  PRIMARY KEY (account_id, member_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_by_member ON memberships (member_id);

-- Whoever has chosen a password has accepted. Their account knows them by their own id, which no other one gets to see.
INSERT INTO memberships (id, account_id, member_id, role, created_at, accepted_at)
  SELECT id, account_id, id, role, created_at, CASE WHEN password_hash IS NOT NULL THEN created_at END FROM members;

-- Of an invitation: to which account. Of a link for a new password: whose owner made it, null = who runs the server.
ALTER TABLE one_time_links ADD COLUMN account_id TEXT REFERENCES accounts (id);
-- A link of somebody without a password was an invitation, and stays one.
UPDATE one_time_links
  SET purpose = 'invite', account_id = (SELECT account_id FROM members WHERE members.id = one_time_links.member_id)
  WHERE purpose = 'password' AND member_id IN (SELECT id FROM members WHERE password_hash IS NULL);

-- Which of the others an owner made, nothing tells, and theirs would open a person's later accounts too. They can be made again.
DELETE FROM one_time_links WHERE purpose = 'password';

DROP INDEX members_by_account;
ALTER TABLE members DROP COLUMN account_id;
ALTER TABLE members DROP COLUMN role;
