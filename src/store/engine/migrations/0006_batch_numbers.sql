-- Which batch of its page load it was: what a page load reported is put in this order, because a request may overtake
-- another. Null = its id does not say.
ALTER TABLE snippet_batches ADD COLUMN batch_number INTEGER;
