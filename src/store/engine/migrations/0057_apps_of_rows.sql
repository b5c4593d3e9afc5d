-- Rows name their app, also where another row names it. On PostgreSQL, it is a part of each key. Indexes have no such
-- column: what they index has it.
DROP TRIGGER contact_changed;
DROP TRIGGER deliveries_counted;
DROP TRIGGER deliveries_recounted;
DROP TRIGGER deliveries_uncounted;
DROP TRIGGER deliveries_reported;
DROP TRIGGER people_compared;

ALTER TABLE message_versions ADD COLUMN app_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message_days ADD COLUMN app_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message_reports ADD COLUMN app_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message_comparisons ADD COLUMN app_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE compared_people ADD COLUMN app_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE uncompared_people ADD COLUMN app_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contact_changes ADD COLUMN app_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE expired_activity ADD COLUMN app_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE scheduled_people ADD COLUMN app_id INTEGER NOT NULL DEFAULT 0;

-- 0 stays where the message or the person is gone.
UPDATE message_versions SET app_id = ifnull((SELECT app_id FROM messages WHERE id = message_id), 0);
UPDATE message_days SET app_id = ifnull((SELECT app_id FROM messages WHERE id = message_id), 0);
UPDATE message_reports SET app_id = ifnull((SELECT app_id FROM messages WHERE id = message_id), 0);
UPDATE message_comparisons SET app_id = ifnull((SELECT app_id FROM messages WHERE id = message_id), 0);
UPDATE compared_people SET app_id = ifnull((SELECT app_id FROM messages WHERE id = message_id), 0);
UPDATE uncompared_people SET app_id = ifnull((SELECT app_id FROM messages WHERE id = message_id), 0);
UPDATE contact_changes SET app_id = ifnull((SELECT app_id FROM contacts WHERE contacts.id = contact_id), 0);
UPDATE expired_activity SET app_id = ifnull((SELECT app_id FROM contacts WHERE contacts.id = contact_id), 0);
UPDATE scheduled_people SET app_id = ifnull((SELECT app_id FROM message_schedules WHERE id = schedule_id), 0);

CREATE TRIGGER contact_changed AFTER UPDATE OF status, first_name, last_name, source, tags, fields ON contacts
WHEN new.updated_at <> old.created_at AND (
  old.status <> new.status OR old.first_name IS NOT new.first_name OR old.last_name IS NOT new.last_name
  OR old.source IS NOT new.source OR old.tags IS NOT new.tags OR old.fields IS NOT new.fields)
BEGIN
  INSERT INTO contact_changes (app_id, contact_id, id, at, change) VALUES (
    new.app_id,
    new.id,
    max((new.updated_at - 1767225600000) * 8192,
      1 + ifnull((SELECT max(id) FROM contact_changes WHERE contact_id = new.id), 0)),
    new.updated_at,
    json_object(
      'status', iif(old.status = new.status, NULL, json_array(old.status, new.status)),
      'firstName', iif(old.first_name IS new.first_name, NULL, json_array(old.first_name, new.first_name)),
      'lastName', iif(old.last_name IS new.last_name, NULL, json_array(old.last_name, new.last_name)),
      'source', iif(old.source IS new.source, NULL, json_array(old.source, new.source)),
      'tags', iif(old.tags IS new.tags, NULL, json_array(
        json((SELECT json_group_array(value) FROM
          (SELECT value FROM json_each(old.tags) EXCEPT SELECT value FROM json_each(new.tags)))),
        json((SELECT json_group_array(value) FROM
          (SELECT value FROM json_each(new.tags) EXCEPT SELECT value FROM json_each(old.tags)))))),
      'fields', iif(old.fields IS new.fields, NULL, json((
        SELECT json_group_object(name, json_array(before, after)) FROM (
          SELECT key AS name, (
              SELECT substr(iif(type IN ('true', 'false'), type, CAST(value AS TEXT)), 1, 200)
              FROM json_each(old.fields) AS o WHERE o.key = k.key) AS before, (
              SELECT substr(iif(type IN ('true', 'false'), type, CAST(value AS TEXT)), 1, 200)
              FROM json_each(new.fields) AS n WHERE n.key = k.key) AS after
          FROM (SELECT key FROM json_each(old.fields) UNION SELECT key FROM json_each(new.fields)) AS k)
        WHERE before IS NOT after)))));
  DELETE FROM contact_changes WHERE contact_id = new.id AND id <= (
    SELECT id FROM contact_changes WHERE contact_id = new.id ORDER BY id DESC LIMIT 1 OFFSET 200);
END;
CREATE TRIGGER deliveries_counted AFTER INSERT ON deliveries BEGIN
  INSERT INTO message_days (app_id, message_id, day, outcome, reason, emails, came_back, opened, reached_goal)
  SELECT NEW.app_id, NEW.message_id, (1767225600000 + NEW.id / 8192) / 86400000,
    CASE WHEN NEW.held_back_at IS NOT NULL THEN 'heldBack'
      WHEN NEW.state IN ('waiting', 'claimed', 'deferred') THEN 'waiting'
      WHEN NEW.state IN ('handed', 'sent', 'unknown', 'bounced', 'complained') THEN 'sent'
      ELSE NEW.state END,
    iif(NEW.state IN ('skipped', 'failed'), ifnull(NEW.reason, ''), ''),
    1, (NEW.came_back_at IS NOT NULL), (NEW.opened_at IS NOT NULL), (NEW.goal_at IS NOT NULL)
  WHERE NEW.joined_to IS NULL
  ON CONFLICT DO UPDATE SET emails = emails + excluded.emails, came_back = came_back + excluded.came_back,
    opened = opened + excluded.opened, reached_goal = reached_goal + excluded.reached_goal;
END;
CREATE TRIGGER deliveries_recounted
AFTER UPDATE OF state, reason, joined_to, held_back_at, came_back_at, opened_at, goal_at ON deliveries
WHEN NOT (
    CASE WHEN OLD.held_back_at IS NOT NULL THEN 'heldBack'
      WHEN OLD.state IN ('waiting', 'claimed', 'deferred') THEN 'waiting'
      WHEN OLD.state IN ('handed', 'sent', 'unknown', 'bounced', 'complained') THEN 'sent'
      ELSE OLD.state END
      IS CASE WHEN NEW.held_back_at IS NOT NULL THEN 'heldBack'
      WHEN NEW.state IN ('waiting', 'claimed', 'deferred') THEN 'waiting'
      WHEN NEW.state IN ('handed', 'sent', 'unknown', 'bounced', 'complained') THEN 'sent'
      ELSE NEW.state END
    AND iif(OLD.state IN ('skipped', 'failed'), ifnull(OLD.reason, ''), '') IS iif(NEW.state IN ('skipped', 'failed'), ifnull(NEW.reason, ''), '')
    AND OLD.joined_to IS NEW.joined_to
    AND (OLD.came_back_at IS NULL) = (NEW.came_back_at IS NULL)
    AND (OLD.opened_at IS NULL) = (NEW.opened_at IS NULL)
    AND (OLD.goal_at IS NULL) = (NEW.goal_at IS NULL))
BEGIN
  INSERT INTO message_days (app_id, message_id, day, outcome, reason, emails, came_back, opened, reached_goal)
  SELECT OLD.app_id, OLD.message_id, (1767225600000 + OLD.id / 8192) / 86400000,
    CASE WHEN OLD.held_back_at IS NOT NULL THEN 'heldBack'
      WHEN OLD.state IN ('waiting', 'claimed', 'deferred') THEN 'waiting'
      WHEN OLD.state IN ('handed', 'sent', 'unknown', 'bounced', 'complained') THEN 'sent'
      ELSE OLD.state END,
    iif(OLD.state IN ('skipped', 'failed'), ifnull(OLD.reason, ''), ''),
    -1, -(OLD.came_back_at IS NOT NULL), -(OLD.opened_at IS NOT NULL), -(OLD.goal_at IS NOT NULL)
  WHERE OLD.joined_to IS NULL
  ON CONFLICT DO UPDATE SET emails = emails + excluded.emails, came_back = came_back + excluded.came_back,
    opened = opened + excluded.opened, reached_goal = reached_goal + excluded.reached_goal;
  INSERT INTO message_days (app_id, message_id, day, outcome, reason, emails, came_back, opened, reached_goal)
  SELECT NEW.app_id, NEW.message_id, (1767225600000 + NEW.id / 8192) / 86400000,
    CASE WHEN NEW.held_back_at IS NOT NULL THEN 'heldBack'
      WHEN NEW.state IN ('waiting', 'claimed', 'deferred') THEN 'waiting'
      WHEN NEW.state IN ('handed', 'sent', 'unknown', 'bounced', 'complained') THEN 'sent'
      ELSE NEW.state END,
    iif(NEW.state IN ('skipped', 'failed'), ifnull(NEW.reason, ''), ''),
    1, (NEW.came_back_at IS NOT NULL), (NEW.opened_at IS NOT NULL), (NEW.goal_at IS NOT NULL)
  WHERE NEW.joined_to IS NULL
  ON CONFLICT DO UPDATE SET emails = emails + excluded.emails, came_back = came_back + excluded.came_back,
    opened = opened + excluded.opened, reached_goal = reached_goal + excluded.reached_goal;
END;
CREATE TRIGGER deliveries_uncounted AFTER DELETE ON deliveries BEGIN
  INSERT INTO message_days (app_id, message_id, day, outcome, reason, emails, came_back, opened, reached_goal)
  SELECT OLD.app_id, OLD.message_id, (1767225600000 + OLD.id / 8192) / 86400000,
    CASE WHEN OLD.held_back_at IS NOT NULL THEN 'heldBack'
      WHEN OLD.state IN ('waiting', 'claimed', 'deferred') THEN 'waiting'
      WHEN OLD.state IN ('handed', 'sent', 'unknown', 'bounced', 'complained') THEN 'sent'
      ELSE OLD.state END,
    iif(OLD.state IN ('skipped', 'failed'), ifnull(OLD.reason, ''), ''),
    -1, -(OLD.came_back_at IS NOT NULL), -(OLD.opened_at IS NOT NULL), -(OLD.goal_at IS NOT NULL)
  WHERE OLD.joined_to IS NULL
  ON CONFLICT DO UPDATE SET emails = emails + excluded.emails, came_back = came_back + excluded.came_back,
    opened = opened + excluded.opened, reached_goal = reached_goal + excluded.reached_goal;
END;
CREATE TRIGGER deliveries_reported AFTER UPDATE OF state, delivered_at ON deliveries
WHEN (OLD.delivered_at IS NULL) <> (NEW.delivered_at IS NULL)
  OR OLD.state <> NEW.state AND (OLD.state IN ('bounced', 'complained') OR NEW.state IN ('bounced', 'complained'))
BEGIN
  INSERT INTO message_reports (app_id, message_id, day, delivered, bounced, complained)
  VALUES (NEW.app_id, NEW.message_id, (1767225600000 + NEW.id / 8192) / 86400000,
    (NEW.delivered_at IS NOT NULL) - (OLD.delivered_at IS NOT NULL),
    (NEW.state = 'bounced') - (OLD.state = 'bounced'),
    (NEW.state = 'complained') - (OLD.state = 'complained'))
  ON CONFLICT DO UPDATE SET delivered = delivered + excluded.delivered, bounced = bounced + excluded.bounced,
    complained = complained + excluded.complained;
END;
CREATE TRIGGER people_compared AFTER INSERT ON compared_people BEGIN
  INSERT INTO message_comparisons
    (app_id, message_id, day, is_held_back, is_first, people, came_back, opened, reached_goal)
  VALUES (NEW.app_id, NEW.message_id, NEW.decided_at / 86400000, NEW.is_held_back, NEW.is_first, 1,
    NEW.came_back_at IS NOT NULL, NEW.opened_at IS NOT NULL, NEW.goal_at IS NOT NULL)
  ON CONFLICT DO UPDATE SET people = people + 1, came_back = came_back + excluded.came_back,
    opened = opened + excluded.opened, reached_goal = reached_goal + excluded.reached_goal;
END;
