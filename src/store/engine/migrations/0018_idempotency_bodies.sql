-- Bodies are hashed differently now, and the old hashes cannot be recomputed. Until they expire, older requests match
-- by their key alone.
UPDATE idempotency_records SET body_hash = '';
