-- One event of a person in each request: nine in ten of 20,000 known ones, one in ten of somebody new.
-- 110 bytes of properties.
local app, key, people = os.getenv("BENCH_APP"), os.getenv("BENCH_KEY"), 20000
local count, run = 0, os.getenv("BENCH_RUN")
local headers = { ["Content-Type"] = "application/json", ["Authorization"] = "Bearer " .. key }
math.randomseed(os.time())
function request()
  count = count + 1
  local person = math.random(1, people)
  local email = count % 10 == 0 and string.format("new%s.%d@example.com", run, count)
    or string.format("person%d@example.com", person)
  local body = string.format(
    '{"app":"%s","email":"%s","event":"results_ready","createContact":true,"properties":{"url":"https://app.example.com/results/%010d","headline":"Your results number %010d are ready now"}}',
    app, email, count, count)
  return wrk.format("POST", "/api/v1/events", headers, body)
end
function done(summary, latency)
  io.write(string.format('RESULT {"requests":%d,"microseconds":%d,"failed":%d,"errors":%d,"p50Ms":%.3f,"p99Ms":%.3f}\n',
    summary.requests, summary.duration, summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
