-- What an app's messages are about.
CREATE TABLE topics (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  description TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX topics_by_name ON topics (app_id, name);

-- Topics that a person wants no emails about. Like suppressions, they are found by keyed hashes and outlive an erasure;
-- by name, so that a topic that is added again is still ended.
CREATE TABLE ended_topics (
  app_id INTEGER NOT NULL,
  email_hash TEXT NOT NULL,
  topic TEXT NOT NULL,
  ended_at INTEGER NOT NULL,
  -- a member; null: the person
  actor TEXT,
  PRIMARY KEY (app_id, email_hash, topic)
) STRICT, WITHOUT ROWID;
