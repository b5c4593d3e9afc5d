-- A mail that was kept did not go out: it has a state of its own, was never sent, and brought nobody back.
UPDATE deliveries SET state = 'kept', sent_at = NULL, came_back_at = NULL, opened_at = NULL
  WHERE state = 'sent' AND id IN (SELECT delivery_id FROM captured_mails);
