-- What a call of the API sent at once: its values, and its text if it named no message.
CREATE TABLE sends (
  delivery_id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  -- the API key
  key_id TEXT NOT NULL,
  -- JSON
  properties TEXT,
  -- JSON of the subject, the body and so on; null: those of the message
  mail TEXT
) STRICT;
