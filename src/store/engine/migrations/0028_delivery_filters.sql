-- Lists of deliveries by result and reason, in order of ids.
DROP INDEX deliveries_came_back;
CREATE INDEX deliveries_came_back ON deliveries (message_id, state) WHERE came_back_at IS NOT NULL;
DROP INDEX deliveries_opened;
CREATE INDEX deliveries_opened ON deliveries (message_id, state) WHERE opened_at IS NOT NULL;
CREATE INDEX deliveries_by_reason ON deliveries (message_id, reason, state) WHERE reason IS NOT NULL;
