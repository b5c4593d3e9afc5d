-- The key of the address hashes, which was created with the first address.
INSERT INTO install (name, value) VALUES ('suppression_key', lower(hex(randomblob(32)))) ON CONFLICT DO NOTHING;
