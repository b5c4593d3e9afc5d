-- What emails did for each person, by message and time (ms UTC), so that people are found by it.
DROP TRIGGER people_emailed;
DROP TRIGGER people_came_back;
DROP TRIGGER people_seen;
DROP TABLE people_results;
DELETE FROM people_result_days;

CREATE TABLE people_results (
  app_id INTEGER NOT NULL,
  -- 0 = any message
  message_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  -- the last email that was sent to them
  emailed_at INTEGER,
  -- when they last came back after an email
  came_back_at INTEGER,
  -- when an email was last not sent, because they had seen its page; only of any message
  seen_at INTEGER,
  PRIMARY KEY (app_id, message_id, contact_id)
) STRICT, WITHOUT ROWID;

INSERT INTO people_results (app_id, message_id, contact_id, emailed_at, came_back_at)
SELECT app_id, message_id, contact_id, max(handed_at), max(came_back_at) FROM deliveries
WHERE joined_to IS NULL AND state IN ('sent', 'unknown', 'bounced', 'complained') AND handed_at IS NOT NULL
GROUP BY app_id, message_id, contact_id;

INSERT INTO people_results (app_id, message_id, contact_id, emailed_at, came_back_at)
SELECT app_id, 0, contact_id, max(emailed_at), max(came_back_at) FROM people_results GROUP BY app_id, contact_id;

INSERT INTO people_results (app_id, message_id, contact_id, seen_at)
SELECT app_id, 0, contact_id, max(updated_at) FROM deliveries
WHERE joined_to IS NULL AND state = 'skipped' AND reason = 'seen' GROUP BY app_id, contact_id
ON CONFLICT DO UPDATE SET seen_at = excluded.seen_at;

CREATE INDEX people_results_emailed ON people_results (app_id, message_id, emailed_at) WHERE emailed_at IS NOT NULL;
CREATE INDEX people_results_came_back ON people_results (app_id, message_id, came_back_at) WHERE came_back_at IS NOT NULL;

-- kind: 0 emailed, 1 came back, 2 seen; each person on their last day (UTC) of it.
INSERT INTO people_result_days (app_id, kind, day, people)
SELECT app_id, 0, emailed_at / 86400000 AS day, count(*) FROM people_results
  WHERE message_id = 0 AND emailed_at IS NOT NULL GROUP BY app_id, day
UNION ALL SELECT app_id, 1, came_back_at / 86400000 AS day, count(*) FROM people_results
  WHERE message_id = 0 AND came_back_at IS NOT NULL GROUP BY app_id, day
UNION ALL SELECT app_id, 2, seen_at / 86400000 AS day, count(*) FROM people_results
  WHERE message_id = 0 AND seen_at IS NOT NULL GROUP BY app_id, day;

CREATE TRIGGER people_results_added AFTER INSERT ON people_results WHEN NEW.message_id = 0 BEGIN
  INSERT INTO people_result_days (app_id, kind, day, people)
  SELECT NEW.app_id, 0, NEW.emailed_at / 86400000, 1 WHERE NEW.emailed_at IS NOT NULL
  UNION ALL SELECT NEW.app_id, 1, NEW.came_back_at / 86400000, 1 WHERE NEW.came_back_at IS NOT NULL
  UNION ALL SELECT NEW.app_id, 2, NEW.seen_at / 86400000, 1 WHERE NEW.seen_at IS NOT NULL
  ON CONFLICT DO UPDATE SET people = people + excluded.people;
END;
CREATE TRIGGER people_results_changed AFTER UPDATE ON people_results
WHEN NEW.message_id = 0 AND NOT (
  OLD.emailed_at / 86400000 IS NEW.emailed_at / 86400000 AND OLD.came_back_at / 86400000 IS NEW.came_back_at / 86400000
  AND OLD.seen_at / 86400000 IS NEW.seen_at / 86400000)
BEGIN
  INSERT INTO people_result_days (app_id, kind, day, people)
  SELECT OLD.app_id, 0, OLD.emailed_at / 86400000, -1 WHERE OLD.emailed_at IS NOT NULL
  UNION ALL SELECT OLD.app_id, 1, OLD.came_back_at / 86400000, -1 WHERE OLD.came_back_at IS NOT NULL
  UNION ALL SELECT OLD.app_id, 2, OLD.seen_at / 86400000, -1 WHERE OLD.seen_at IS NOT NULL
  UNION ALL SELECT NEW.app_id, 0, NEW.emailed_at / 86400000, 1 WHERE NEW.emailed_at IS NOT NULL
  UNION ALL SELECT NEW.app_id, 1, NEW.came_back_at / 86400000, 1 WHERE NEW.came_back_at IS NOT NULL
  UNION ALL SELECT NEW.app_id, 2, NEW.seen_at / 86400000, 1 WHERE NEW.seen_at IS NOT NULL
  ON CONFLICT DO UPDATE SET people = people + excluded.people;
END;
CREATE TRIGGER people_results_removed AFTER DELETE ON people_results WHEN OLD.message_id = 0 BEGIN
  INSERT INTO people_result_days (app_id, kind, day, people)
  SELECT OLD.app_id, 0, OLD.emailed_at / 86400000, -1 WHERE OLD.emailed_at IS NOT NULL
  UNION ALL SELECT OLD.app_id, 1, OLD.came_back_at / 86400000, -1 WHERE OLD.came_back_at IS NOT NULL
  UNION ALL SELECT OLD.app_id, 2, OLD.seen_at / 86400000, -1 WHERE OLD.seen_at IS NOT NULL
  ON CONFLICT DO UPDATE SET people = people + excluded.people;
END;

CREATE TRIGGER people_emailed AFTER UPDATE OF state ON deliveries
WHEN NEW.state IN ('sent', 'unknown', 'bounced', 'complained') AND OLD.state NOT IN ('sent', 'unknown', 'bounced', 'complained')
  AND NEW.handed_at IS NOT NULL AND NEW.joined_to IS NULL
BEGIN
  INSERT INTO people_results (app_id, message_id, contact_id, emailed_at, came_back_at)
  VALUES (NEW.app_id, 0, NEW.contact_id, NEW.handed_at, NEW.came_back_at),
    (NEW.app_id, NEW.message_id, NEW.contact_id, NEW.handed_at, NEW.came_back_at)
  ON CONFLICT DO UPDATE SET emailed_at = max(ifnull(emailed_at, 0), excluded.emailed_at),
    came_back_at = nullif(max(ifnull(came_back_at, 0), ifnull(excluded.came_back_at, 0)), 0);
END;
CREATE TRIGGER people_came_back AFTER UPDATE OF came_back_at ON deliveries
WHEN OLD.came_back_at IS NULL AND NEW.came_back_at IS NOT NULL AND NEW.state IN ('sent', 'unknown', 'bounced', 'complained')
  AND NEW.handed_at IS NOT NULL AND NEW.joined_to IS NULL
BEGIN
  UPDATE people_results SET came_back_at = max(ifnull(came_back_at, 0), NEW.came_back_at)
  WHERE app_id = NEW.app_id AND message_id IN (0, NEW.message_id) AND contact_id = NEW.contact_id;
END;
CREATE TRIGGER people_seen AFTER UPDATE OF state ON deliveries
WHEN NEW.state = 'skipped' AND NEW.reason = 'seen' AND OLD.state <> 'skipped' AND NEW.joined_to IS NULL
BEGIN
  INSERT INTO people_results (app_id, message_id, contact_id, seen_at)
  VALUES (NEW.app_id, 0, NEW.contact_id, NEW.updated_at)
  ON CONFLICT DO UPDATE SET seen_at = max(ifnull(seen_at, 0), excluded.seen_at);
END;
