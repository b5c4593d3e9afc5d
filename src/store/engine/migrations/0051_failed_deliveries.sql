-- A page of the failed deliveries of an app counts them, and few of an app's deliveries are failed.
CREATE INDEX deliveries_failed ON deliveries (message_id, state) WHERE state = 'failed' AND joined_to IS NULL;
