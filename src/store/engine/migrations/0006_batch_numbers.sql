-- Position in its page load; orders reports, because requests may overtake each other. Null if not given.
ALTER TABLE snippet_batches ADD COLUMN batch_number INTEGER;
