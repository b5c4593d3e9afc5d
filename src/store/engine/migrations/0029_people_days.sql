-- New people by day (UTC). Triggers keep the counts, because the people of a day have no index.
CREATE TABLE people_days (
  app_id INTEGER NOT NULL,
  -- days since 1970 (UTC)
  day INTEGER NOT NULL,
  people INTEGER NOT NULL,
  PRIMARY KEY (app_id, day)
) STRICT, WITHOUT ROWID;

INSERT INTO people_days (app_id, day, people)
SELECT app_id, created_at / 86400000, count(*) FROM contacts GROUP BY app_id, created_at / 86400000;

CREATE TRIGGER contacts_counted AFTER INSERT ON contacts BEGIN
  INSERT INTO people_days (app_id, day, people) VALUES (NEW.app_id, NEW.created_at / 86400000, 1)
  ON CONFLICT DO UPDATE SET people = people + 1;
END;
CREATE TRIGGER contacts_uncounted AFTER DELETE ON contacts BEGIN
  UPDATE people_days SET people = people - 1 WHERE app_id = OLD.app_id AND day = OLD.created_at / 86400000;
END;
