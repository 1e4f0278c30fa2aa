using Spectre.Console;

namespace FastCgi.Tool.Commands.Top;

internal sealed class TopCommand : ToolCommand
{
    private const string Target = "ADDRESS|URL";
    private const string SetPath = "Set --path to the path of MapFastCgiStatus().";

    // The server samples itself every second.
    private static readonly TimeSpan s_interval = TimeSpan.FromSeconds(2);

    private static readonly StatusJson s_json =
        new(new JsonSerializerOptions(StatusJson.Default.Options) { RespectNullableAnnotations = true });

    public TopCommand(ToolConsole console)
        : base(console, "top", "Shows live rates, latencies, active requests and recommendations of a server.")
    {
        // The time to restore the terminal. If the output is a pipe, its reader may have stalled.
        HandlesInterruption = console.IsTerminal;
        AddArgument(Target, "Where the application listens, or the http URL of its status", CheckTarget);
        AddPath("The path of the status at a FastCGI address", "/fastcgi-status");
        AddChoice<TopOrder>("--sort", "Sort requests by this value, largest first", TopOrder.Age);
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
        var order = arguments.GetValue<TopOrder>("--sort");
        try
        {
            if (Terminal.IsTerminal && !arguments.Has("--once") && !arguments.IsJson())
                await Terminal.Ansi.Live(Text.Empty).StartAsync(
                    live => RepeatAsync((_, status) => live.UpdateTarget(TopView.Create(status, order))));
            else
                await RepeatAsync(Write);
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            // Ctrl-C.
        }

        return ExitCode.Ok;

        async Task RepeatAsync(Action<string, StatusSnapshot> show)
        {
            while (true)
            {
                var (text, status) = await ReadAsync(client, target, url, cancellationToken);
                show(text, status);
                if (arguments.Has("--once"))
                    return;
                await Task.Delay(s_interval, cancellationToken);
            }
        }

        void Write(string text, StatusSnapshot status)
        {
            if (arguments.IsJson())
                Terminal.WriteJson(JsonElement.Parse(text), ToolJson.Default.JsonElement);
            else
                Terminal.Ansi.Write(TopView.Create(status, order));
        }
    }

    private static bool IsUrl(string text)
        => Uri.TryCreate(text, UriKind.Absolute, out var uri) && uri.Scheme is "http" or "https";

    private static string? CheckTarget(string text)
        => IsUrl(text) || FastCgiAddress.TryParse(text, out _)
            ? null
            : $"'{text}' is neither an http URL nor an address. {AddressForms}";

    private static async Task<(string Text, StatusSnapshot Status)> ReadAsync(
        HttpClient client, string target, string url, CancellationToken cancellationToken)
    {
        if (!Uri.TryCreate(url, UriKind.Absolute, out var uri))
            throw Usage($"'{url}' is not a path.");

        var name = $"{uri.AbsolutePath} of {target}";
        try
        {
            using var response = await client.GetAsync(uri, cancellationToken);
            if (!response.IsSuccessStatusCode)
                throw Failure($"{name} returns {(int)response.StatusCode}. Map the status with MapFastCgiStatus(); "
                    + "outside Development, add RequireAuthorization() or AllowAnonymous().");

            // JSON is UTF-8 (RFC 8259, section 8.1), whatever its charset says.
            var text = Encoding.UTF8.GetString(await response.Content.ReadAsByteArrayAsync(cancellationToken));
            return (text, JsonSerializer.Deserialize(text, s_json.StatusSnapshot) ?? throw new JsonException());
        }
        catch (JsonException)
        {
            throw Failure($"{name} is not the status of FastCgi.AspNetCore. {SetPath}");
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
}
