-- What changed of a person, the last 200 times. Ids are in order of time, like those of events.
CREATE TABLE contact_changes (
  contact_id INTEGER NOT NULL,
  id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  -- a member; null: a program, or the person
  actor TEXT,
  -- JSON: [before, after] of status, firstName, lastName, source and each of fields; tags: [removed, added]
  change TEXT NOT NULL,
  PRIMARY KEY (contact_id, id)
) STRICT, WITHOUT ROWID;

-- What is saved with a new person is no change.
CREATE TRIGGER contact_changed AFTER UPDATE OF status, first_name, last_name, source, tags, fields ON contacts
WHEN new.updated_at <> old.created_at AND (
  old.status <> new.status OR old.first_name IS NOT new.first_name OR old.last_name IS NOT new.last_name
  OR old.source IS NOT new.source OR old.tags IS NOT new.tags OR old.fields IS NOT new.fields)
BEGIN
  INSERT INTO contact_changes (contact_id, id, at, change) VALUES (
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

CREATE TRIGGER contact_changes_erased AFTER DELETE ON contacts BEGIN
  DELETE FROM contact_changes WHERE contact_id = old.id;
END;
