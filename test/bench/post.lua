-- One event of a person in each request: nine in ten of 20,000 known ones, one in ten of somebody new.
-- 110 bytes of properties. Requests are made before the clock starts, so that the client takes little of a machine
-- that it shares with the server; a server that answers more than are made gets them again.
local made, next = {}, 0
function init()
  local app, run, prepared = os.getenv("BENCH_APP"), os.getenv("BENCH_RUN"), tonumber(os.getenv("BENCH_PREPARED"))
  local headers = { ["Content-Type"] = "application/json", ["Authorization"] = "Bearer " .. os.getenv("BENCH_KEY") }
  math.randomseed(os.time())
  for count = 1, prepared do
    local email = count % 10 == 0 and string.format("new%s.%d@example.com", run, count)
      or string.format("person%d@example.com", math.random(1, 20000))
    local body = string.format(
      '{"app":"%s","email":"%s","event":"results_ready","createContact":true,"properties":{"url":"https://app.example.com/results/%010d","headline":"Your results number %010d are ready now"}}',
      app, email, count, count)
    made[count] = wrk.format("POST", "/api/v1/events", headers, body)
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
