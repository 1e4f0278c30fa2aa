namespace FastCgi.Tool.Commands.Top;

internal sealed class TopCommand : ToolCommand
{
    private const string Target = "ADDRESS|URL";

    // The server samples itself every second.
    private static readonly TimeSpan s_interval = TimeSpan.FromSeconds(2);

    public TopCommand(ToolConsole console)
        : base(console, "top", "Shows live rates, latencies, active requests and recommendations of a server.")
    {
        // The time to restore the screen. If the output is a pipe, its reader may have stalled.
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
        using var reader = new StatusReader(handler, arguments.GetTimeout(), target);
        var isLive = Terminal.IsTerminal && !arguments.Has("--once") && !arguments.IsJson();
        using var screen = isLive ? new LiveScreen(Terminal) : null;
        try
        {
            for (StatusSnapshot? before = null; ;)
            {
                var path = IsUrl(target) ? target : arguments.GetText("--path")!;
                var (text, status) = await reader.ReadAsync(path, cancellationToken);
                Show(arguments, text, status, TopRates.Create(before, status), screen);
                if (arguments.Has("--once"))
                    return ExitCode.Ok;

                before = status;
                await Task.Delay(s_interval, cancellationToken);
            }
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            return ExitCode.Ok;
        }
    }

    private static bool IsUrl(string text)
        => Uri.TryCreate(text, UriKind.Absolute, out var uri) && uri.Scheme is "http" or "https";

    private static string? CheckTarget(string text)
        => IsUrl(text) || FastCgiAddress.TryParse(text, out _)
            ? null
            : $"'{text}' is neither an http URL nor an address. {AddressForms}";

    private void Show(ParseResult arguments, string text, StatusSnapshot status, TopRates rates, LiveScreen? screen)
    {
        if (arguments.IsJson())
        {
            using var document = JsonDocument.Parse(text);
            Terminal.WriteJson(document.RootElement, ToolJson.Default.JsonElement);
            return;
        }

        var picture = new TopPicture(status, rates, arguments.GetValue<TopOrder>("--sort"), Terminal, Terminal.Width);
        if (screen is not null)
            screen.Show(picture.Draw(Terminal.Height));
        else
            Terminal.Out.WriteLine(string.Join('\n', picture.Draw(int.MaxValue)));
    }
}

internal enum TopOrder
{
    Age,
    In,
    Out,
    State,
    Client,
    Path,
}

internal sealed record TopRates(double Requests, double Connections, double BytesReceived, double BytesSent)
{
    /// <summary>The rates between two samples; after the first one or a restart, those of the last minute.</summary>
    public static TopRates Create(StatusSnapshot? before, StatusSnapshot now)
    {
        var recent = now.Recent;
        var seconds = before?.StartedAt == now.StartedAt ? now.Uptime - before.Uptime : 0;
        if (before is null || seconds <= 0)
            return new TopRates(recent.RequestsPerSecond, recent.ConnectionsPerSecond, recent.BytesReceivedPerSecond,
                recent.BytesSentPerSecond);

        var (first, last) = (before.Connections, now.Connections);
        return new TopRates(
            (now.Requests.Total - before.Requests.Total) / seconds, (last.Total - first.Total) / seconds,
            (last.BytesReceived - first.BytesReceived) / seconds, (last.BytesSent - first.BytesSent) / seconds);
    }
}
