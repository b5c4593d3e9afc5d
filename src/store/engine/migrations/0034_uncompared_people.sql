-- People about whom a message decided while their app had no mail server. Neither group was emailed, so they are never
-- compared.
CREATE TABLE uncompared_people (
  contact_id INTEGER NOT NULL,
  message_id INTEGER NOT NULL,
  PRIMARY KEY (contact_id, message_id)
) STRICT, WITHOUT ROWID;

-- Held-back people go by the last email of the app that was decided before them, or else by the first one after them.
INSERT INTO uncompared_people
WITH decided AS (
  SELECT deliveries.app_id, person.contact_id, person.message_id, person.decided_at, person.delivery_id,
    CASE WHEN is_held_back THEN NULL
      WHEN state = 'kept' OR record ->> '$.keptAt' IS NOT NULL THEN 1
      WHEN state = 'failed' OR handed_at IS NOT NULL THEN 0 END AS is_captured
  FROM compared_people AS person JOIN deliveries ON deliveries.id = person.delivery_id
), ordered AS (
  SELECT *, count(is_captured) OVER (PARTITION BY app_id ORDER BY decided_at, delivery_id) AS place FROM decided
), known AS (
  SELECT contact_id, message_id, coalesce(max(is_captured) OVER (PARTITION BY app_id, place),
    max(iif(place = 1, is_captured, NULL)) OVER (PARTITION BY app_id)) AS is_captured
  FROM ordered
)
SELECT contact_id, message_id FROM known WHERE is_captured = 1;

DELETE FROM compared_people WHERE (contact_id, message_id) IN (SELECT contact_id, message_id FROM uncompared_people);

UPDATE compared_people SET is_first = NOT EXISTS (
  SELECT 1 FROM compared_people AS earlier WHERE earlier.contact_id = compared_people.contact_id
    AND (earlier.decided_at, earlier.delivery_id) < (compared_people.decided_at, compared_people.delivery_id));

DELETE FROM message_comparisons;
INSERT INTO message_comparisons
SELECT message_id, decided_at / 86400000, is_held_back, is_first, count(*), count(came_back_at), count(opened_at), count(goal_at)
FROM compared_people GROUP BY 1, 2, 3, 4;

-- A return before the email was sent again stays on the day of the earlier one.
UPDATE people_results SET came_back_day = found.day FROM (
  SELECT contact_id, max(iif(came_back_at >= handed_at, handed_at, ifnull(record ->> '$.unconfirmedAt', came_back_at)) / 86400000) AS day
  FROM deliveries
  WHERE contact_id IN (SELECT contact_id FROM deliveries WHERE came_back_at < handed_at AND joined_to IS NULL)
    AND came_back_at IS NOT NULL AND handed_at IS NOT NULL AND joined_to IS NULL
    AND state IN ('sent', 'unknown', 'bounced', 'complained')
  GROUP BY contact_id) AS found
WHERE found.contact_id = people_results.contact_id;

DROP TRIGGER people_emailed;
CREATE TRIGGER people_emailed AFTER UPDATE OF state ON deliveries
WHEN NEW.state IN ('sent', 'unknown', 'bounced', 'complained') AND OLD.state NOT IN ('sent', 'unknown', 'bounced', 'complained')
  AND NEW.handed_at IS NOT NULL AND NEW.joined_to IS NULL
BEGIN
  INSERT INTO people_results (contact_id, app_id, emailed_day, came_back_day)
  VALUES (NEW.contact_id, NEW.app_id, NEW.handed_at / 86400000, iif(NEW.came_back_at >= NEW.handed_at, NEW.handed_at / 86400000, NULL))
  ON CONFLICT DO UPDATE SET emailed_day = max(ifnull(emailed_day, 0), excluded.emailed_day),
    came_back_day = nullif(max(ifnull(came_back_day, 0), ifnull(excluded.came_back_day, 0)), 0);
END;
