-- One line of figures for the driver, instead of wrk's own words. With BODY_SIZE, POSTs a body of that many bytes.
local size = tonumber(os.getenv("BODY_SIZE") or "0")
if size > 0 then
  wrk.method = "POST"
  wrk.body = string.rep("x", size)
  wrk.headers["Content-Type"] = "application/octet-stream"
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format("report %d %d %d %d %d\n",
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
