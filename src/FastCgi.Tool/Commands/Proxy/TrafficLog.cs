namespace FastCgi.Tool.Commands.Proxy;

/// <summary>Writes a line for each completed request.</summary>
internal sealed class TrafficLog(ToolConsole console, bool isJson)
{
    public async Task InvokeAsync(HttpContext context, RequestDelegate next)
    {
        var start = Stopwatch.GetTimestamp();
        var request = new ForwardedRequest();
        context.Features.Set(request);
        try
        {
            await next(context);
        }
        finally
        {
            var standardError = request.StandardError is { Length: > 0 } text ? text.TrimEnd('\n') : null;
            Write(new ProxiedRequest(
                context.Request.Method, context.Features.Get<IHttpRequestFeature>()!.RawTarget,
                request.Status ?? context.Response.StatusCode, request.Bytes ?? context.Response.ContentLength ?? 0,
                Math.Round(Stopwatch.GetElapsedTime(start).TotalMilliseconds, 1), request.Note, standardError));
        }
    }

    private void Write(ProxiedRequest request)
    {
        if (isJson)
        {
            console.Log(JsonSerializer.Serialize(request, ToolJson.Default.ProxiedRequest));
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
        console.Log($"{color} {PlainText.Line(line).TrimEnd()}");
        if (request.StandardError is { } text)
            console.Log(
                $"    stderr: {PlainText.Lines(text).Replace("\n", "\n    stderr: ", StringComparison.Ordinal)}");
    }
}

/// <summary>What differs from the response, or is not in it.</summary>
internal sealed class ForwardedRequest
{
    public int? Status { get; set; }

    /// <summary>The bytes of the body that the client got.</summary>
    public long? Bytes { get; set; }
    public string? Note { get; set; }
    public string? StandardError { get; set; }
}

internal sealed record ProxiedRequest(
    string Method, string Target, int Status, long Bytes, double Milliseconds, string? Note, string? StandardError);
