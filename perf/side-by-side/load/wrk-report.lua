-- Sends the headers of the browser that fcgiload sends as params, so that all servers read the same request, and EXTRA_HEADERS
-- more. With BODY_SIZE, POSTs a body of that many bytes, as BODY_KIND (json, form) says. Reports one line of figures for the driver, instead of wrk's own words.
wrk.headers["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
wrk.headers["Accept"] = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/png,image/svg+xml,*/*;q=0.8"
wrk.headers["Accept-Language"] = "en-US,en;q=0.5"
wrk.headers["Accept-Encoding"] = "gzip, deflate, br, zstd"
wrk.headers["Cookie"] = "_ga=GA1.2.1532886274.1718018342; sid=8d0f6c1e2b7a4c59a3f1e0d2c4b6a8971f2e3d4c; theme=light; tz=120"
wrk.headers["Upgrade-Insecure-Requests"] = "1"

for i = 1, tonumber(os.getenv("EXTRA_HEADERS") or "0") do
  wrk.headers["X-Extra-Header-" .. i] = "an-extra-header-value-0123456789"
end

local size = tonumber(os.getenv("BODY_SIZE") or "0")
local kind = os.getenv("BODY_KIND")
if size > 0 then
  wrk.method = "POST"
  wrk.body = string.rep("x", size)
  wrk.headers["Content-Type"] = "application/octet-stream"
  if kind == "json" then
    wrk.body = '{"text":"' .. wrk.body .. '"}'
    wrk.headers["Content-Type"] = "application/json"
  elseif kind == "form" then
    wrk.body = '--limit\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n' .. wrk.body .. '\r\n--limit--\r\n'
    wrk.headers["Content-Type"] = "multipart/form-data; boundary=limit"
  end
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format("report %d %d %d %d %d %d %d\n",
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(99.9), latency.max))
end
