-- An event that joined a waiting email is a delivery in the state "joined" with its own once_key; joined_to is the
-- delivery whose email lists it.
ALTER TABLE deliveries ADD COLUMN joined_to INTEGER;
CREATE INDEX deliveries_joined ON deliveries (joined_to) WHERE joined_to IS NOT NULL;

-- Events without the property now count as once per person. Their key was the hash of "null".
UPDATE OR IGNORE deliveries SET once_key = '' WHERE once_key = 'dCNOmK_nSY-12vHzasLXis';
