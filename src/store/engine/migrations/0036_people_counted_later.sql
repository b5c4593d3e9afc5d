-- People are counted by day after their commit, as far as "seen" in contact_index_progress. Recording an event of a new
-- person then writes one page less.
DROP TRIGGER contacts_counted;
DROP TRIGGER contacts_uncounted;

DELETE FROM people_days;
INSERT INTO people_days (app_id, day, people)
SELECT app_id, created_at / 86400000, count(*) FROM contacts
WHERE id <= (SELECT done_until FROM contact_index_progress WHERE part = 'seen')
GROUP BY app_id, created_at / 86400000;

CREATE TRIGGER contacts_uncounted AFTER DELETE ON contacts
WHEN OLD.id <= (SELECT done_until FROM contact_index_progress WHERE part = 'seen') BEGIN
  UPDATE people_days SET people = people - 1 WHERE app_id = OLD.app_id AND day = OLD.created_at / 86400000;
END;

-- With the people who are not counted yet.
CREATE VIEW people_by_day AS
SELECT app_id, day, people FROM people_days
UNION ALL
SELECT app_id, created_at / 86400000, 1 FROM contacts
WHERE id > (SELECT done_until FROM contact_index_progress WHERE part = 'seen');
