-- Ends behind as many answers as it is told, and writes what it has seen in one line. Latencies are in microseconds.
local limit, count = 0, 0

function init(arguments)
  limit = tonumber(arguments[1])
end

function response()
  count = count + 1
  if count == limit then wrk.thread:stop() end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("seen requests=%d bytes=%d errors=%d p50=%d p99=%d max=%d\n",
    summary.requests, summary.bytes, errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50), latency:percentile(99), latency.max))
end
