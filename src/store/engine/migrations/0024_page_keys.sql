-- `once` by `url` treats all spellings of a page as one. The keys of earlier emails are recomputed in code (index.ts).
SELECT 1;
