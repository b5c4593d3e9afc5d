-- For sign-ins, successful or not: the keyed hash of the address, or 'several'; null for other entries. `count`:
-- identical attempts stored as one row.
ALTER TABLE audit_entries ADD COLUMN address TEXT;
ALTER TABLE audit_entries ADD COLUMN count INTEGER NOT NULL DEFAULT 1;
-- Sign-ins are deleted by age, and each kind is read without the other.
CREATE INDEX audit_entries_of_sign_ins ON audit_entries (created_at) WHERE address IS NOT NULL;
CREATE INDEX audit_entries_of_changes ON audit_entries (account_id, created_at) WHERE address IS NULL;

-- Members without two-step sign-in can't open the account until they set it up.
ALTER TABLE accounts ADD COLUMN requires_two_step INTEGER NOT NULL DEFAULT 0;
