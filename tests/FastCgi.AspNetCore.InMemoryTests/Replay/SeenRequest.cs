namespace FastCgi.AspNetCore.InMemoryTests.Replay;

/// <summary>An application's observations of a request, made while it was active.</summary>
internal sealed record SeenRequest(
    string Method, string Protocol, bool IsHttps, string PathBase, string Path, string QueryString, string RawTarget,
    string? RemoteAddress,
    string? ServerName, long? ContentLength, string[] Headers, byte[] Body, bool IsBodyWhole)
{
    /// <summary>Reads a request to its end, or as far as it arrived.</summary>
    public static async Task<SeenRequest> ReadAsync(HttpContext context)
    {
        var request = context.Request;
        var body = new MemoryStream();
        var isBodyWhole = await Record(() => request.Body.CopyToAsync(body));
        return new SeenRequest(
            request.Method,
            request.Protocol,
            request.IsHttps,
            request.PathBase.Value!,
            request.Path.Value!,
            request.QueryString.Value!,
            context.Features.GetRequiredFeature<IHttpRequestFeature>().RawTarget,
            context.Connection.RemoteIpAddress?.ToString(),
            GetServerName(context),
            request.ContentLength,
            [.. request.Headers.Select(static header => $"{header.Key}: {string.Join(" | ", header.Value.ToArray())}")],
            body.ToArray(),
            isBodyWhole);
    }

    private static async Task<bool> Record(Func<Task> read)
    {
        try
        {
            await read();
            return true;
        }
        catch (IOException)
        {
            return false;
        }
    }

    /// <summary>Replaces a Host header that the client did not send.</summary>
    private static string? GetServerName(HttpContext context)
    {
        var (name, port) = (context.GetServerVariable("SERVER_NAME"), context.GetServerVariable("SERVER_PORT"));
        if (string.IsNullOrEmpty(name))
            return null;
        return port == "80" ? name : $"{name}:{port}";
    }
}
