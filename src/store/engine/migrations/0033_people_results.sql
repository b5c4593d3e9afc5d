-- What emails did for each person, by the last day (UTC) of it. So the people of the days up to today are those whose last
-- day is one of them, each once.
CREATE TABLE people_results (
  contact_id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  -- of the last email that was sent to them
  emailed_day INTEGER,
  -- of the last of these emails after which they came back
  came_back_day INTEGER,
  -- when an email was last not sent, because they had seen its page
  seen_day INTEGER
) STRICT;

CREATE TABLE people_result_days (
  app_id INTEGER NOT NULL,
  -- 0 emailed, 1 came back, 2 seen
  kind INTEGER NOT NULL,
  day INTEGER NOT NULL,
  people INTEGER NOT NULL,
  PRIMARY KEY (app_id, kind, day)
) STRICT, WITHOUT ROWID;

INSERT INTO people_results (contact_id, app_id, emailed_day, came_back_day, seen_day)
SELECT contact_id, app_id, max(iif(state <> 'skipped', handed_at / 86400000, NULL)),
  max(iif(state <> 'skipped' AND came_back_at IS NOT NULL, handed_at / 86400000, NULL)),
  max(iif(state = 'skipped', updated_at / 86400000, NULL))
FROM deliveries
WHERE joined_to IS NULL AND (state IN ('sent', 'unknown', 'bounced', 'complained') AND handed_at IS NOT NULL OR state = 'skipped' AND reason = 'seen')
GROUP BY contact_id;

INSERT INTO people_result_days (app_id, kind, day, people)
SELECT app_id, 0, emailed_day, count(*) FROM people_results WHERE emailed_day IS NOT NULL GROUP BY app_id, emailed_day
UNION ALL SELECT app_id, 1, came_back_day, count(*) FROM people_results WHERE came_back_day IS NOT NULL GROUP BY app_id, came_back_day
UNION ALL SELECT app_id, 2, seen_day, count(*) FROM people_results WHERE seen_day IS NOT NULL GROUP BY app_id, seen_day;

CREATE TRIGGER people_results_added AFTER INSERT ON people_results BEGIN
  INSERT INTO people_result_days (app_id, kind, day, people)
  SELECT NEW.app_id, 0, NEW.emailed_day, 1 WHERE NEW.emailed_day IS NOT NULL
  UNION ALL SELECT NEW.app_id, 1, NEW.came_back_day, 1 WHERE NEW.came_back_day IS NOT NULL
  UNION ALL SELECT NEW.app_id, 2, NEW.seen_day, 1 WHERE NEW.seen_day IS NOT NULL
  ON CONFLICT DO UPDATE SET people = people + excluded.people;
END;
CREATE TRIGGER people_results_changed AFTER UPDATE ON people_results BEGIN
  INSERT INTO people_result_days (app_id, kind, day, people)
  SELECT OLD.app_id, 0, OLD.emailed_day, -1 WHERE OLD.emailed_day IS NOT NULL AND OLD.emailed_day IS NOT NEW.emailed_day
  UNION ALL SELECT OLD.app_id, 1, OLD.came_back_day, -1 WHERE OLD.came_back_day IS NOT NULL AND OLD.came_back_day IS NOT NEW.came_back_day
  UNION ALL SELECT OLD.app_id, 2, OLD.seen_day, -1 WHERE OLD.seen_day IS NOT NULL AND OLD.seen_day IS NOT NEW.seen_day
  UNION ALL SELECT NEW.app_id, 0, NEW.emailed_day, 1 WHERE NEW.emailed_day IS NOT NULL AND OLD.emailed_day IS NOT NEW.emailed_day
  UNION ALL SELECT NEW.app_id, 1, NEW.came_back_day, 1 WHERE NEW.came_back_day IS NOT NULL AND OLD.came_back_day IS NOT NEW.came_back_day
  UNION ALL SELECT NEW.app_id, 2, NEW.seen_day, 1 WHERE NEW.seen_day IS NOT NULL AND OLD.seen_day IS NOT NEW.seen_day
  ON CONFLICT DO UPDATE SET people = people + excluded.people;
END;
CREATE TRIGGER people_results_removed AFTER DELETE ON people_results BEGIN
  INSERT INTO people_result_days (app_id, kind, day, people)
  SELECT OLD.app_id, 0, OLD.emailed_day, -1 WHERE OLD.emailed_day IS NOT NULL
  UNION ALL SELECT OLD.app_id, 1, OLD.came_back_day, -1 WHERE OLD.came_back_day IS NOT NULL
  UNION ALL SELECT OLD.app_id, 2, OLD.seen_day, -1 WHERE OLD.seen_day IS NOT NULL
  ON CONFLICT DO UPDATE SET people = people + excluded.people;
END;

CREATE TRIGGER people_emailed AFTER UPDATE OF state ON deliveries
WHEN NEW.state IN ('sent', 'unknown', 'bounced', 'complained') AND OLD.state NOT IN ('sent', 'unknown', 'bounced', 'complained')
  AND NEW.handed_at IS NOT NULL AND NEW.joined_to IS NULL
BEGIN
  INSERT INTO people_results (contact_id, app_id, emailed_day, came_back_day)
  VALUES (NEW.contact_id, NEW.app_id, NEW.handed_at / 86400000, iif(NEW.came_back_at IS NULL, NULL, NEW.handed_at / 86400000))
  ON CONFLICT DO UPDATE SET emailed_day = max(ifnull(emailed_day, 0), excluded.emailed_day),
    came_back_day = nullif(max(ifnull(came_back_day, 0), ifnull(excluded.came_back_day, 0)), 0);
END;
CREATE TRIGGER people_came_back AFTER UPDATE OF came_back_at ON deliveries
WHEN OLD.came_back_at IS NULL AND NEW.came_back_at IS NOT NULL AND NEW.state IN ('sent', 'unknown', 'bounced', 'complained')
  AND NEW.handed_at IS NOT NULL AND NEW.joined_to IS NULL
BEGIN
  UPDATE people_results SET came_back_day = max(ifnull(came_back_day, 0), NEW.handed_at / 86400000)
  WHERE contact_id = NEW.contact_id;
END;
CREATE TRIGGER people_seen AFTER UPDATE OF state ON deliveries
WHEN NEW.state = 'skipped' AND NEW.reason = 'seen' AND OLD.state <> 'skipped' AND NEW.joined_to IS NULL
BEGIN
  INSERT INTO people_results (contact_id, app_id, seen_day) VALUES (NEW.contact_id, NEW.app_id, NEW.updated_at / 86400000)
  ON CONFLICT DO UPDATE SET seen_day = max(ifnull(seen_day, 0), excluded.seen_day);
END;
