namespace FastCgi.Tool.Commands.Top;

internal sealed class StatusReader(HttpMessageHandler handler, TimeSpan timeout, string target) : IDisposable
{
    private const string SetPath = "Set --path to the path of MapFastCgiStatus().";

    private static readonly StatusJson s_json =
        new(new JsonSerializerOptions(StatusJson.Default.Options) { RespectNullableAnnotations = true });

    private readonly HttpClient _client =
        new(handler, disposeHandler: false) { Timeout = timeout, MaxResponseContentBufferSize = 64 * 1024 * 1024 };

    /// <exception cref="ToolException">There is no status.</exception>
    public async Task<(string Text, StatusSnapshot Status)> ReadAsync(string path, CancellationToken cancellationToken)
    {
        var url = path.Contains("://") ? path : "http://localhost/" + path.TrimStart('/');
        url += (url.Contains('?') ? "&" : "?") + "format=json";
        if (!Uri.TryCreate(url, UriKind.Absolute, out var uri) || uri.Scheme is not ("http" or "https"))
            throw Usage($"'{path}' is not a path.");

        try
        {
            using var response = await _client.GetAsync(uri, cancellationToken);
            if (!response.IsSuccessStatusCode)
                throw NoStatus(uri,
                    $"returns {(int)response.StatusCode}. Map the status with MapFastCgiStatus(); outside Development, "
                    + "add RequireAuthorization() or AllowAnonymous().");
            if (response.Content.Headers.ContentType?.MediaType is var type && type is not "application/json")
                throw NoStatus(
                    uri, $"is {type ?? "a response without a type"}, not the status of FastCgi.AspNetCore. {SetPath}");

            // JSON is UTF-8 (RFC 8259, section 8.1), whatever its charset says.
            var text = Encoding.UTF8.GetString(await response.Content.ReadAsByteArrayAsync(cancellationToken));
            return (text, Parse(text)
                ?? throw NoStatus(uri, $"is JSON, but not the status of FastCgi.AspNetCore. {SetPath}"));
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            throw Failure($"{target}: no response in time.");
        }
        catch (HttpRequestException exception)
        {
            var message = (exception.InnerException ?? exception).Message;
            throw new ToolException(exception.InnerException is SocketException ? ExitCode.CannotRun : ExitCode.Failure,
                message.Contains(target) ? message : $"{target}: {message}");
        }
    }

    public void Dispose() => _client.Dispose();

    /// <returns><see langword="null"/> if anything is missing.</returns>
    private static StatusSnapshot? Parse(string text)
    {
        try
        {
            var status = JsonSerializer.Deserialize(text, s_json.StatusSnapshot);
            IEnumerable<object?>[] lists = status is null
                ? [[null]]
                : [status.Limits, status.Recommendations, status.Errors, status.FrontEnds, status.OpenConnections,
                    status.ActiveRequests];
            return lists.Any(static list => list.Contains(null)) ? null : status;
        }
        catch (JsonException)
        {
            return null;
        }
    }

    private ToolException NoStatus(Uri uri, string why)
        => new(ExitCode.Failure, $"{uri.AbsolutePath} of {target} {why}");
}
