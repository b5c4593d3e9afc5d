-- Captured emails get their own state: they were not sent and brought nobody back.
UPDATE deliveries SET state = 'kept', sent_at = NULL, came_back_at = NULL, opened_at = NULL
  WHERE state = 'sent' AND id IN (SELECT delivery_id FROM captured_mails);
