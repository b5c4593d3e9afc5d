-- An event that joined an email that was waiting is a delivery too, in the state "joined": its once_key is used up like
-- any other, and this is the delivery whose email lists it.
ALTER TABLE deliveries ADD COLUMN joined_to INTEGER;
CREATE INDEX deliveries_joined ON deliveries (joined_to) WHERE joined_to IS NOT NULL;

-- An event without the property counts as once per person from now on. Before, its key was the hash of "null".
UPDATE OR IGNORE deliveries SET once_key = '' WHERE once_key = 'dCNOmK_nSY-12vHzasLXis';
