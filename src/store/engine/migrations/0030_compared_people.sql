-- Whether a person is emailed or held back for comparison, from the first time that a message decides it. They stay in
-- that group, whatever becomes of their emails.
CREATE TABLE compared_people (
  -- whose decision it was
  delivery_id INTEGER PRIMARY KEY,
  contact_id INTEGER NOT NULL,
  message_id INTEGER NOT NULL,
  is_held_back INTEGER NOT NULL,
  -- 1 = no other message of the app had decided it before
  is_first INTEGER NOT NULL,
  decided_at INTEGER NOT NULL,
  -- since then
  came_back_at INTEGER,
  opened_at INTEGER,
  goal_at INTEGER,
  UNIQUE (contact_id, message_id)
) STRICT;

-- Emails that failed or were skipped later have the verdict in their record.
INSERT OR IGNORE INTO compared_people
SELECT deliveries.id, deliveries.contact_id, deliveries.message_id,
  held_back_at IS NOT NULL OR EXISTS (SELECT 1 FROM json_each(record, '$.verdicts')
    WHERE value ->> '$.rule' = 'holdback' AND value ->> '$.verdict' = 'fail'),
  0, coalesce(held_back_at, handed_at, record ->> '$.at', deliveries.updated_at) AS decided_at, came_back_at, opened_at, goal_at
FROM messages CROSS JOIN deliveries ON deliveries.message_id = messages.id
WHERE messages.id IN (SELECT message_id FROM message_versions WHERE content ->> '$.holdback' IS NOT NULL)
  AND joined_to IS NULL AND (compared_after IS NOT NULL OR instr(record, '"rule":"holdback"') > 0)
ORDER BY decided_at, deliveries.id;

UPDATE compared_people SET is_first = 1 WHERE NOT EXISTS (
  SELECT 1 FROM compared_people AS earlier WHERE earlier.contact_id = compared_people.contact_id
    AND (earlier.decided_at, earlier.delivery_id) < (compared_people.decided_at, compared_people.delivery_id));

-- Returns were not noted for emails that weren't handed over. Page views are 1.
UPDATE compared_people SET came_back_at = found.at FROM (
  SELECT person.delivery_id, min(ifnull(events.occurred_at, events.received_at)) AS at
  FROM events CROSS JOIN compared_people AS person ON person.contact_id = events.contact_id
  WHERE events.id >= (SELECT min(delivery_id) FROM compared_people) AND events.type = 1 AND person.came_back_at IS NULL
    AND ifnull(events.occurred_at, events.received_at) BETWEEN person.decided_at AND person.decided_at + 604800000
  GROUP BY person.delivery_id) AS found
WHERE found.delivery_id = compared_people.delivery_id;

DROP TRIGGER deliveries_compared;
DROP TRIGGER deliveries_uncompared;
ALTER TABLE deliveries DROP COLUMN compared_after;

-- By the day (UTC) of the decision.
DROP TABLE message_comparisons;
CREATE TABLE message_comparisons (
  message_id INTEGER NOT NULL,
  day INTEGER NOT NULL,
  is_held_back INTEGER NOT NULL,
  is_first INTEGER NOT NULL,
  people INTEGER NOT NULL,
  came_back INTEGER NOT NULL,
  opened INTEGER NOT NULL,
  reached_goal INTEGER NOT NULL,
  PRIMARY KEY (message_id, day, is_held_back, is_first)
) STRICT, WITHOUT ROWID;

INSERT INTO message_comparisons
SELECT message_id, decided_at / 86400000, is_held_back, is_first, count(*), count(came_back_at), count(opened_at), count(goal_at)
FROM compared_people GROUP BY 1, 2, 3, 4;

CREATE TRIGGER people_compared AFTER INSERT ON compared_people BEGIN
  INSERT INTO message_comparisons
  VALUES (NEW.message_id, NEW.decided_at / 86400000, NEW.is_held_back, NEW.is_first, 1,
    NEW.came_back_at IS NOT NULL, NEW.opened_at IS NOT NULL, NEW.goal_at IS NOT NULL)
  ON CONFLICT DO UPDATE SET people = people + 1, came_back = came_back + excluded.came_back,
    opened = opened + excluded.opened, reached_goal = reached_goal + excluded.reached_goal;
END;
CREATE TRIGGER people_reached AFTER UPDATE OF came_back_at, opened_at, goal_at ON compared_people BEGIN
  UPDATE message_comparisons SET
    came_back = came_back + (NEW.came_back_at IS NOT NULL) - (OLD.came_back_at IS NOT NULL),
    opened = opened + (NEW.opened_at IS NOT NULL) - (OLD.opened_at IS NOT NULL),
    reached_goal = reached_goal + (NEW.goal_at IS NOT NULL) - (OLD.goal_at IS NOT NULL)
  WHERE message_id = OLD.message_id AND day = OLD.decided_at / 86400000 AND is_held_back = OLD.is_held_back
    AND is_first = OLD.is_first;
END;
CREATE TRIGGER people_uncompared AFTER DELETE ON compared_people BEGIN
  UPDATE message_comparisons SET people = people - 1, came_back = came_back - (OLD.came_back_at IS NOT NULL),
    opened = opened - (OLD.opened_at IS NOT NULL), reached_goal = reached_goal - (OLD.goal_at IS NOT NULL)
  WHERE message_id = OLD.message_id AND day = OLD.decided_at / 86400000 AND is_held_back = OLD.is_held_back
    AND is_first = OLD.is_first;
END;
