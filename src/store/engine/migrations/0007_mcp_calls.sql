-- MCP calls, without any arguments or results.
CREATE TABLE mcp_calls (
  -- in order of arrival, so that the oldest are found without another index
  id INTEGER PRIMARY KEY,
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  tool TEXT NOT NULL,
  -- "ok" or the refusal's code
  outcome TEXT NOT NULL,
  ms INTEGER NOT NULL,
  -- client name as the client reports it; null if not given
  client TEXT,
  called_at INTEGER NOT NULL
) STRICT;
CREATE INDEX mcp_calls_by_account ON mcp_calls (account_id, called_at);
