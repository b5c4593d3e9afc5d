-- Emails count on the day (UTC) on which Eventpost got their trigger, which their ID tells (core/ids.ts). Lists of
-- deliveries go by it too.
DROP TRIGGER deliveries_counted;
DROP TRIGGER deliveries_recounted;
DROP TRIGGER deliveries_uncounted;
DELETE FROM message_days;

INSERT INTO message_days (message_id, day, outcome, reason, emails, came_back, opened, reached_goal)
SELECT deliveries.message_id, (1767225600000 + deliveries.id / 8192) / 86400000,
    CASE WHEN deliveries.held_back_at IS NOT NULL THEN 'heldBack'
      WHEN deliveries.state IN ('waiting', 'claimed', 'deferred') THEN 'waiting'
      WHEN deliveries.state IN ('handed', 'sent', 'unknown', 'bounced', 'complained') THEN 'sent'
      ELSE deliveries.state END,
    iif(deliveries.state IN ('skipped', 'failed'), ifnull(deliveries.reason, ''), ''),
  count(*), count(came_back_at), count(opened_at), count(goal_at)
FROM deliveries WHERE joined_to IS NULL GROUP BY 1, 2, 3, 4;

CREATE TRIGGER deliveries_counted AFTER INSERT ON deliveries BEGIN
  INSERT INTO message_days (message_id, day, outcome, reason, emails, came_back, opened, reached_goal)
  SELECT NEW.message_id, (1767225600000 + NEW.id / 8192) / 86400000,
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
  INSERT INTO message_days (message_id, day, outcome, reason, emails, came_back, opened, reached_goal)
  SELECT OLD.message_id, (1767225600000 + OLD.id / 8192) / 86400000,
    CASE WHEN OLD.held_back_at IS NOT NULL THEN 'heldBack'
      WHEN OLD.state IN ('waiting', 'claimed', 'deferred') THEN 'waiting'
      WHEN OLD.state IN ('handed', 'sent', 'unknown', 'bounced', 'complained') THEN 'sent'
      ELSE OLD.state END,
    iif(OLD.state IN ('skipped', 'failed'), ifnull(OLD.reason, ''), ''),
    -1, -(OLD.came_back_at IS NOT NULL), -(OLD.opened_at IS NOT NULL), -(OLD.goal_at IS NOT NULL)
  WHERE OLD.joined_to IS NULL
  ON CONFLICT DO UPDATE SET emails = emails + excluded.emails, came_back = came_back + excluded.came_back,
    opened = opened + excluded.opened, reached_goal = reached_goal + excluded.reached_goal;
  INSERT INTO message_days (message_id, day, outcome, reason, emails, came_back, opened, reached_goal)
  SELECT NEW.message_id, (1767225600000 + NEW.id / 8192) / 86400000,
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
  INSERT INTO message_days (message_id, day, outcome, reason, emails, came_back, opened, reached_goal)
  SELECT OLD.message_id, (1767225600000 + OLD.id / 8192) / 86400000,
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
