-- Requests to the API, the MCP server, the browser script and bounce reports: refused ones and samples of accepted ones. No values.
CREATE TABLE requests (
  -- in order of arrival
  id INTEGER PRIMARY KEY,
  -- the pool that limits how many are kept
  pool INTEGER NOT NULL,
  -- empty without a valid key, site or app
  account_id TEXT NOT NULL,
  app_id INTEGER,
  -- the key's ID, or what came without one
  caller TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  -- MCP tool
  tool TEXT,
  status INTEGER NOT NULL,
  -- null if accepted
  code TEXT,
  field TEXT,
  request_id TEXT NOT NULL,
  -- identical refusals of one moment
  count INTEGER NOT NULL
) STRICT;
-- Filters read only the index.
CREATE INDEX requests_refused ON requests (account_id, id, code, field, status, caller, app_id, received_at, count) WHERE code IS NOT NULL;
CREATE INDEX requests_accepted ON requests (account_id, id, status, caller, app_id, received_at, count) WHERE code IS NULL;
CREATE INDEX requests_by_request_id ON requests (request_id);
CREATE INDEX requests_by_caller ON requests (pool, account_id, caller, id);

-- How many rows each caller has, because counting them takes too long.
CREATE TABLE request_callers (
  pool INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  caller TEXT NOT NULL,
  rows INTEGER NOT NULL,
  PRIMARY KEY (pool, account_id, caller)
) STRICT, WITHOUT ROWID;
