namespace FastCgi.Tool.Commands.Proxy;

/// <summary>Writes a line for each completed request.</summary>
internal sealed class TrafficLog(ToolConsole console, bool isJson)
{
    // If the reader of standard output stalls, further requests are only counted.
    private readonly Channel<ProxiedRequest> _requests = Channel.CreateBounded<ProxiedRequest>(10_000);
    private int _dropped;

    public async Task InvokeAsync(HttpContext context, RequestDelegate next)
    {
        var start = Stopwatch.GetTimestamp();
        var body = context.Response.Body;
        await using var counted = new CountingStream(body);
        context.Response.Body = counted;
        var request = new ForwardedRequest();
        context.Features.Set(request);
        try
        {
            await next(context);
        }
        finally
        {
            context.Response.Body = body;
            var standardError = request.StandardError is { Length: > 0 } text ? text.TrimEnd('\n') : null;
            var isQueued = _requests.Writer.TryWrite(new ProxiedRequest(
                context.Request.Method, context.Features.Get<IHttpRequestFeature>()!.RawTarget,
                request.Status ?? context.Response.StatusCode, counted.Written,
                Math.Round(Stopwatch.GetElapsedTime(start).TotalMilliseconds, 1), request.Note, standardError));
            if (!isQueued)
                Interlocked.Increment(ref _dropped);
        }
    }

    /// <summary>Writes the lines. Requests do not wait for this.</summary>
    public async Task RunAsync()
    {
        await foreach (var request in _requests.Reader.ReadAllAsync())
        {
            try
            {
                WriteLine(request);
                SayMissing();
            }
            catch (Exception)
            {
                // The proxy works without its log: the disk may be full, or standard output closed.
                Interlocked.Increment(ref _dropped);
            }
        }
    }

    public void End() => _requests.Writer.Complete();

    public void SayMissing(bool isEnded = false)
    {
        if (Interlocked.Exchange(ref _dropped, 0) + (isEnded ? _requests.Reader.Count : 0) is > 0 and var missing)
            console.Say($"Requests that are not in the log, because it could not be written in time: {missing}");
    }

    private void WriteLine(ProxiedRequest request)
    {
        if (isJson)
        {
            console.WriteJson(request, ToolJson.Default.ProxiedRequest);
            return;
        }

        var status = Invariant($"{request.Status}");
        var color = request.Status switch
        {
            >= 500 => console.Red(status),
            >= 400 => console.Yellow(status),
            _ => console.Green(status),
        };
        var line = Invariant(
            $"{request.Method} {request.Target}  {request.Bytes} bytes  {request.Milliseconds:0.0} ms  {request.Note}");
        console.Out.WriteLine($"{color} {PlainText.Line(line).TrimEnd()}");
        if (request.StandardError is { } text)
            console.Out.WriteLine(
                $"    stderr: {PlainText.Lines(text).Replace("\n", "\n    stderr: ", StringComparison.Ordinal)}");
    }

    private sealed class CountingStream(Stream inner) : ForwardStream(canRead: false)
    {
        public long Written { get; private set; }

        public override async ValueTask WriteAsync(
            ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            await inner.WriteAsync(buffer, cancellationToken);
            Written += buffer.Length;
        }

        public override Task FlushAsync(CancellationToken cancellationToken) => inner.FlushAsync(cancellationToken);
    }
}

internal sealed class ForwardedRequest
{
    /// <summary>The status, if it differs from that of the response.</summary>
    public int? Status { get; set; }
    public string? Note { get; set; }
    public string? StandardError { get; set; }
}

internal sealed record ProxiedRequest(
    string Method, string Target, int Status, long Bytes, double Milliseconds, string? Note, string? StandardError);
