namespace FastCgi.Tool.Commands.Proxy;

/// <summary>Writes a line for each completed request.</summary>
internal sealed class TrafficLog(ToolConsole console, bool isJson)
{
    // Requests do not wait for the log: if the reader of standard output stalls, lines are dropped.
    private readonly Channel<ProxiedRequest> _requests = Channel.CreateBounded<ProxiedRequest>(
        new BoundedChannelOptions(10_000) { FullMode = BoundedChannelFullMode.DropWrite });

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
            _requests.Writer.TryWrite(new ProxiedRequest(
                context.Request.Method, context.Features.Get<IHttpRequestFeature>()!.RawTarget,
                request.Status ?? context.Response.StatusCode, counted.Written,
                Math.Round(Stopwatch.GetElapsedTime(start).TotalMilliseconds, 1), request.Note, standardError));
        }
    }

    /// <summary>Writes the lines until the proxy stops.</summary>
    public async Task RunAsync()
    {
        await foreach (var request in _requests.Reader.ReadAllAsync())
        {
            try
            {
                WriteLine(request);
            }
            catch (Exception exception) when (exception is IOException or ObjectDisposedException)
            {
                // The proxy works without its log: the disk may be full, or standard output closed.
            }
        }
    }

    public void End() => _requests.Writer.Complete();

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
