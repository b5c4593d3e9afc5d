-- The last time that an email provider's own list of suppressed addresses was read.
CREATE TABLE suppression_syncs (
  app_id INTEGER PRIMARY KEY,
  provider TEXT NOT NULL,
  -- when it ended (ms UTC)
  at INTEGER NOT NULL,
  added INTEGER NOT NULL,
  -- were on our list already
  known INTEGER NOT NULL,
  -- are no email addresses
  unread INTEGER NOT NULL,
  -- why it ended early: a code; null: all were read
  fault TEXT
) STRICT;
