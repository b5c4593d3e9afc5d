-- Why the address is suppressed: JSON (store/suppression-causes.ts). Null: not known.
ALTER TABLE suppressions ADD COLUMN cause TEXT;
