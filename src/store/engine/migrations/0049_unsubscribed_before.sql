-- Of a bounce or complaint: when the person unsubscribed (ms UTC). Freeing the address leaves them unsubscribed.
ALTER TABLE suppressions ADD COLUMN unsubscribed_at INTEGER;
