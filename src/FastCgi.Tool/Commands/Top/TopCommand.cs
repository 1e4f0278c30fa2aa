using Spectre.Console;

namespace FastCgi.Tool.Commands.Top;

internal sealed class TopCommand : ToolCommand
{
    private const string Target = "ADDRESS|URL";

    // The server samples itself every second.
    private static readonly TimeSpan s_interval = TimeSpan.FromSeconds(2);

    private static readonly StatusJson s_json =
        new(new JsonSerializerOptions(StatusJson.Default.Options) { RespectNullableAnnotations = true });

    public TopCommand(ToolConsole console)
        : base(console, "top", "Shows live rates, latencies, active requests and recommendations of a server.")
    {
        // The time to restore the terminal. If the output is a pipe, its reader may have stalled.
        HandlesInterruption = console.IsTerminal;
        AddArgument(Target, "Where the application listens, or the http URL of its status", static text
            => IsUrl(text) || FastCgiAddress.TryParse(text, out _)
                ? null
                : $"'{text}' is neither an http URL nor an address. {AddressForms}");
        AddPath("The path of the status at a FastCGI address", "/fastcgi-status");
        AddFlag("--once", "Print once and exit");
        AddTimeoutAndJson("How long a response may take", 5);
    }

    protected override async Task<int> RunAsync(ParseResult arguments, CancellationToken cancellationToken)
    {
        var target = arguments.GetText(Target)!;
        using HttpMessageHandler handler = IsUrl(target) ? new SocketsHttpHandler() : new FastCgiHttpHandler(target);
        using var client = new HttpClient(handler) { Timeout = arguments.GetTimeout() };
        var url = IsUrl(target) ? target : "http://localhost/" + arguments.GetText("--path")!.TrimStart('/');
        url += (url.Contains('?') ? "&" : "?") + "format=json";
        try
        {
            if (Terminal.IsTerminal && !arguments.Has("--once") && !arguments.IsJson())
                await Terminal.Ansi.Live(Text.Empty).StartAsync(
                    live => RepeatAsync(status => live.UpdateTarget(TopView.Create(status))));
            else
                await RepeatAsync(status => Terminal.Ansi.Write(TopView.Create(status)));
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            // Ctrl-C.
        }

        return ExitCode.Ok;

        async Task RepeatAsync(Action<StatusSnapshot> show)
        {
            while (true)
            {
                var (text, status) = await ReadAsync(client, target, url, cancellationToken);
                if (arguments.IsJson())
                    Terminal.WriteJson(JsonElement.Parse(text), ToolJson.Default.JsonElement);
                else
                    show(status);
                if (arguments.Has("--once"))
                    return;
                await Task.Delay(s_interval, cancellationToken);
            }
        }
    }

    private static bool IsUrl(string text)
        => Uri.TryCreate(text, UriKind.Absolute, out var uri) && uri.Scheme is "http" or "https";

    private static async Task<(byte[] Text, StatusSnapshot Status)> ReadAsync(
        HttpClient client, string target, string url, CancellationToken cancellationToken)
    {
        try
        {
            // JSON is UTF-8 (RFC 8259, section 8.1), whatever its charset says.
            var text = await client.GetByteArrayAsync(url, cancellationToken);
            return (text, JsonSerializer.Deserialize(text, s_json.StatusSnapshot) ?? throw new JsonException());
        }
        catch (Exception exception) when (!cancellationToken.IsCancellationRequested)
        {
            var message = exception switch
            {
                JsonException => "this is not the status of FastCgi.AspNetCore. Set --path to its path.",
                HttpRequestException { StatusCode: { } status } => $"the status is {(int)status}. Map the status with "
                    + "MapFastCgiStatus(); outside Development, add RequireAuthorization() or AllowAnonymous().",
                OperationCanceledException => "no response in time.",
                _ => (exception.InnerException ?? exception).Message,
            };
            throw new ToolException(exception.InnerException is SocketException ? ExitCode.CannotRun : ExitCode.Failure,
                message.Contains(target) ? message : $"{target}: {message}");
        }
    }
}
