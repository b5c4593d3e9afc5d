-- Who wrote the version: "cli", a member id or a key id; null = not known.
ALTER TABLE message_versions ADD COLUMN actor TEXT;
