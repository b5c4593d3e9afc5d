-- One page view of a known person in each request to POST /c, with a signature that was made before (people.txt: email
-- and signature in a line). Every batch has an id of its own, so that each is stored.
local made, next, people = {}, 0, {}
function init()
  local site, run, prepared = os.getenv("BENCH_SITE"), os.getenv("BENCH_RUN"), tonumber(os.getenv("BENCH_PREPARED"))
  for line in io.lines(os.getenv("BENCH_PEOPLE")) do people[#people + 1] = { line:match("^(%S+) (%S+)$") } end
  local headers = { ["Content-Type"] = "text/plain;charset=UTF-8", ["Origin"] = "https://app.example.com" }
  math.randomseed(os.time())
  for count = 1, prepared do
    local person = people[math.random(1, #people)]
    local body = string.format(
      '{"v":1,"site":"%s","email":"%s","signature":"%s","id":"%s-%08x.%d","events":[{"type":"page","path":"/results/%d","age":%d}]}',
      site, person[1], person[2], run, math.random(0, 2147483647), count, count % 1000, math.random(1, 900))
    made[count] = wrk.format("POST", "/c", headers, body)
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
