-- One get_contact over MCP in each request, of 20,000 known people.
local made, next = {}, 0
function init()
  local app, prepared = os.getenv("BENCH_APP"), tonumber(os.getenv("BENCH_PREPARED"))
  local headers = {
    ["Content-Type"] = "application/json",
    ["Accept"] = "application/json, text/event-stream",
    ["Authorization"] = "Bearer " .. os.getenv("BENCH_KEY"),
  }
  math.randomseed(os.time())
  for count = 1, prepared do
    local body = string.format(
      '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_contact","arguments":{"app":"%s","email":"person%d@example.com"}}}',
      count, app, math.random(0, 19999))
    made[count] = wrk.format("POST", "/mcp", headers, body)
  end
end
function request()
  next = next % #made + 1
  return made[next]
end
function done(summary, latency)
  io.write(string.format('RESULT {"requests":%d,"microseconds":%d,"failed":%d,"errors":%d,"p50Ms":%.3f,"p99Ms":%.3f}\n',
    summary.requests, summary.duration, summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
