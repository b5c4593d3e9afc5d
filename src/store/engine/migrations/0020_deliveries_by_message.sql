-- Pages of deliveries, including waiting ones, are read in order of ids. Counting uses this index too, so the index by
-- time has only what the queue needs.
DROP INDEX deliveries_by_message;
CREATE INDEX deliveries_by_message ON deliveries (message_id, state);
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (app_id, due_at) WHERE state IN ('waiting', 'deferred');
