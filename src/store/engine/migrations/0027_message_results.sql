-- Held back for comparison instead of sent (ms UTC).
ALTER TABLE deliveries ADD COLUMN held_back_at INTEGER;
-- When the message's goal was reached (ms UTC).
ALTER TABLE deliveries ADD COLUMN goal_at INTEGER;
-- Set when the person's group (emailed or held back) was decided: the day of their previous such delivery of this
-- message, or -1. A range counts each person once: by the delivery whose predecessor is older than the range.
ALTER TABLE deliveries ADD COLUMN compared_after INTEGER;

-- A person who is held back has used up the message like one who was emailed.
DROP INDEX deliveries_once;
CREATE UNIQUE INDEX deliveries_once ON deliveries (app_id, contact_id, message_id, once_key)
  WHERE (handed_at IS NOT NULL OR held_back_at IS NOT NULL OR state NOT IN ('skipped', 'failed'));

-- Lists of deliveries by goal, in order of ids.
CREATE INDEX deliveries_goal ON deliveries (message_id, state) WHERE goal_at IS NOT NULL;

-- Emails by the day (UTC) of their trigger, without events that joined another email. Triggers keep the counts, because
-- deliveries change in many places and counting a million takes too long.
CREATE TABLE message_days (
  message_id INTEGER NOT NULL,
  day INTEGER NOT NULL,
  -- waiting, sent, heldBack, or the state: kept, skipped, failed
  outcome TEXT NOT NULL,
  -- of skipped and failed emails
  reason TEXT NOT NULL,
  emails INTEGER NOT NULL,
  came_back INTEGER NOT NULL,
  opened INTEGER NOT NULL,
  reached_goal INTEGER NOT NULL,
  PRIMARY KEY (message_id, day, outcome, reason)
) STRICT, WITHOUT ROWID;

-- Emailed and held-back people by the day (UTC) of the decision and of their previous one.
CREATE TABLE message_comparisons (
  message_id INTEGER NOT NULL,
  day INTEGER NOT NULL,
  after INTEGER NOT NULL,
  is_held_back INTEGER NOT NULL,
  people INTEGER NOT NULL,
  came_back INTEGER NOT NULL,
  opened INTEGER NOT NULL,
  reached_goal INTEGER NOT NULL,
  PRIMARY KEY (message_id, day, after, is_held_back)
) STRICT, WITHOUT ROWID;

INSERT INTO message_days (message_id, day, outcome, reason, emails, came_back, opened, reached_goal)
SELECT deliveries.message_id, deliveries.triggered_at / 86400000,
    CASE WHEN deliveries.held_back_at IS NOT NULL THEN 'heldBack'
      WHEN deliveries.state IN ('waiting', 'claimed', 'deferred') THEN 'waiting'
      WHEN deliveries.state IN ('handed', 'sent', 'unknown', 'bounced', 'complained') THEN 'sent'
      ELSE deliveries.state END,
    iif(deliveries.state IN ('skipped', 'failed'), ifnull(deliveries.reason, ''), ''),
  count(*), count(came_back_at), count(opened_at), 0
FROM deliveries WHERE joined_to IS NULL GROUP BY 1, 2, 3, 4;

CREATE TRIGGER deliveries_counted AFTER INSERT ON deliveries BEGIN
  INSERT INTO message_days (message_id, day, outcome, reason, emails, came_back, opened, reached_goal)
  SELECT NEW.message_id, NEW.triggered_at / 86400000,
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
  SELECT OLD.message_id, OLD.triggered_at / 86400000,
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
  SELECT NEW.message_id, NEW.triggered_at / 86400000,
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
  SELECT OLD.message_id, OLD.triggered_at / 86400000,
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
CREATE TRIGGER deliveries_compared
AFTER UPDATE OF compared_after, state, joined_to, handed_at, held_back_at, came_back_at, opened_at, goal_at ON deliveries
WHEN (OLD.compared_after IS NOT NULL OR NEW.compared_after IS NOT NULL) AND NOT (
    OLD.compared_after IS NEW.compared_after
    AND OLD.state = NEW.state
    AND OLD.joined_to IS NEW.joined_to
    AND OLD.handed_at IS NEW.handed_at
    AND OLD.held_back_at IS NEW.held_back_at
    AND (OLD.came_back_at IS NULL) = (NEW.came_back_at IS NULL)
    AND (OLD.opened_at IS NULL) = (NEW.opened_at IS NULL)
    AND (OLD.goal_at IS NULL) = (NEW.goal_at IS NULL))
BEGIN
  INSERT INTO message_comparisons (message_id, day, after, is_held_back, people, came_back, opened, reached_goal)
  SELECT OLD.message_id, ifnull(OLD.held_back_at, OLD.handed_at) / 86400000, OLD.compared_after, OLD.held_back_at IS NOT NULL,
    -1, -(OLD.came_back_at IS NOT NULL), -(OLD.opened_at IS NOT NULL), -(OLD.goal_at IS NOT NULL)
  WHERE OLD.compared_after IS NOT NULL AND OLD.joined_to IS NULL
    AND (OLD.held_back_at IS NOT NULL OR OLD.state IN ('handed', 'sent', 'unknown', 'bounced', 'complained'))
  ON CONFLICT DO UPDATE SET people = people + excluded.people, came_back = came_back + excluded.came_back,
    opened = opened + excluded.opened, reached_goal = reached_goal + excluded.reached_goal;
  INSERT INTO message_comparisons (message_id, day, after, is_held_back, people, came_back, opened, reached_goal)
  SELECT NEW.message_id, ifnull(NEW.held_back_at, NEW.handed_at) / 86400000, NEW.compared_after, NEW.held_back_at IS NOT NULL,
    1, (NEW.came_back_at IS NOT NULL), (NEW.opened_at IS NOT NULL), (NEW.goal_at IS NOT NULL)
  WHERE NEW.compared_after IS NOT NULL AND NEW.joined_to IS NULL
    AND (NEW.held_back_at IS NOT NULL OR NEW.state IN ('handed', 'sent', 'unknown', 'bounced', 'complained'))
  ON CONFLICT DO UPDATE SET people = people + excluded.people, came_back = came_back + excluded.came_back,
    opened = opened + excluded.opened, reached_goal = reached_goal + excluded.reached_goal;
END;
CREATE TRIGGER deliveries_uncompared AFTER DELETE ON deliveries WHEN OLD.compared_after IS NOT NULL BEGIN
  INSERT INTO message_comparisons (message_id, day, after, is_held_back, people, came_back, opened, reached_goal)
  SELECT OLD.message_id, ifnull(OLD.held_back_at, OLD.handed_at) / 86400000, OLD.compared_after, OLD.held_back_at IS NOT NULL,
    -1, -(OLD.came_back_at IS NOT NULL), -(OLD.opened_at IS NOT NULL), -(OLD.goal_at IS NOT NULL)
  WHERE OLD.compared_after IS NOT NULL AND OLD.joined_to IS NULL
    AND (OLD.held_back_at IS NOT NULL OR OLD.state IN ('handed', 'sent', 'unknown', 'bounced', 'complained'))
  ON CONFLICT DO UPDATE SET people = people + excluded.people, came_back = came_back + excluded.came_back,
    opened = opened + excluded.opened, reached_goal = reached_goal + excluded.reached_goal;
END;
