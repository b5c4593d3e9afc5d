-- A page of deliveries, those that wait too, is read in the order of ids. Counting reads this index as well, so that the
-- one by time holds no more than the queue needs.
DROP INDEX deliveries_by_message;
CREATE INDEX deliveries_by_message ON deliveries (message_id, state);
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (app_id, due_at) WHERE state IN ('waiting', 'deferred');
