-- For wrk: asks for the paths in a file, one after the other, each thread from another
-- place on, and ends with a line: requests per second, median and 99th percentile in
-- microseconds, and responses other than successes.
--
--   wrk -t2 -c16 -d5s -s urls.lua http://host:port -- FILE KEY

local threads = 0

function setup(thread)
  thread:set("place", threads * 7)
  threads = threads + 1
end

function init(args)
  paths = {}
  for line in io.lines(args[1]) do
    paths[#paths + 1] = line
  end
  wrk.headers["X-API-Key"] = args[2]
end

function request()
  place = place % #paths + 1
  return wrk.format("GET", paths[place])
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format("RESULT %.1f %d %d %d\n", summary.requests / summary.duration * 1e6,
    latency:percentile(50), latency:percentile(99), errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
