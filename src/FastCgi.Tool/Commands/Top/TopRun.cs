using System.Text.Json;
using FastCgi.AspNetCore.Status;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Top;

/// <summary>One run of <c>top</c>.</summary>
internal sealed class TopRun(ToolConsole console, TopSettings settings)
{
    // The server samples itself every second.
    private static readonly TimeSpan s_interval = TimeSpan.FromSeconds(2);

    public async Task<int> RunAsync(CancellationToken cancellationToken)
    {
        var isUrl = TopCommand.IsUrl(settings.Target);
        using HttpMessageHandler handler = isUrl ? new SocketsHttpHandler() : new FastCgiHttpHandler(settings.Target);
        using var client = new HttpClient(handler) { Timeout = settings.Timeout, MaxResponseContentBufferSize = 64 * 1024 * 1024 };
        var uri = GetUri(isUrl);
        LiveScreen? screen = null;
        try
        {
            for (StatusSnapshot? before = null; ;)
            {
                var (text, status) = await ReadAsync(client, uri, cancellationToken);
                // An error at the start leaves the screen alone.
                screen ??= settings.IsOnce || settings.IsJson ? null : new LiveScreen(console);
                Show(text, status, TopRates.Create(before, status), screen);
                if (settings.IsOnce)
                    return ExitCode.Ok;

                before = status;
                await Task.Delay(s_interval, cancellationToken);
            }
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            return ExitCode.Ok;
        }
        finally
        {
            screen?.Dispose();
        }
    }

    private Uri GetUri(bool isUrl)
    {
        var text = isUrl ? settings.Target : "http://localhost/" + settings.Path.TrimStart('/');
        return new Uri(text + (text.Contains('?', StringComparison.Ordinal) ? "&" : "?") + "format=json");
    }

    private async Task<(string Text, StatusSnapshot Status)> ReadAsync(HttpClient client, Uri uri, CancellationToken cancellationToken)
    {
        try
        {
            using var response = await client.GetAsync(uri, cancellationToken);
            if (!response.IsSuccessStatusCode)
            {
                throw NoStatus(
                    uri, $"is answered with {(int)response.StatusCode}. Map the status with MapFastCgiStatus(); outside Development, add RequireAuthorization() or AllowAnonymous().");
            }

            if (response.Content.Headers.ContentType?.MediaType is var type && type is not "application/json")
                throw NoStatus(uri, $"is {type ?? "a response without a type"}, not the status of FastCgi.AspNetCore. Set --path to the path of MapFastCgiStatus().");

            var text = await response.Content.ReadAsStringAsync(cancellationToken);
            return (text, StatusReader.Read(text));
        }
        catch (JsonException)
        {
            throw NoStatus(uri, "is JSON, but not the status of FastCgi.AspNetCore. Set --path to the path of MapFastCgiStatus().");
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            throw new ToolException(ExitCode.Failure, $"{settings.Target}: no response in time.");
        }
        catch (HttpRequestException exception)
        {
            var isConnected = exception.InnerException is not System.Net.Sockets.SocketException;
            throw new ToolException(isConnected ? ExitCode.Failure : ExitCode.CannotRun,
                $"{settings.Target}: {(exception.InnerException ?? exception).Message}");
        }
    }

    private ToolException NoStatus(Uri uri, string why) => new(ExitCode.Failure, $"{uri.AbsolutePath} of {settings.Target} {why}");

    private void Show(string text, StatusSnapshot status, TopRates rates, LiveScreen? screen)
    {
        if (screen is not null)
        {
            screen.Show((width, height) => new TopPicture(status, rates, settings.Order, console, width).Draw(height));
            return;
        }

        if (settings.IsJson)
        {
            using var document = JsonDocument.Parse(text);
            console.Out.WriteLine(JsonSerializer.Serialize(document.RootElement, ToolJson.Default.JsonElement));
        }
        else
        {
            foreach (var line in new TopPicture(status, rates, settings.Order, console, console.Width).Draw(int.MaxValue))
                console.Out.WriteLine(line);
        }

        console.Out.Flush();
    }
}

/// <summary>Rates per second.</summary>
internal sealed record TopRates(double Requests, double Connections, double BytesReceived, double BytesSent)
{
    /// <summary>The rates between two samples, or those of the last minute if there is one sample or the server was restarted.</summary>
    public static TopRates Create(StatusSnapshot? before, StatusSnapshot now)
    {
        var seconds = before?.StartedAt == now.StartedAt ? now.Uptime - before.Uptime : 0;
        if (before is null || seconds <= 0)
            return new TopRates(now.Recent.RequestsPerSecond, now.Recent.ConnectionsPerSecond, now.Recent.BytesReceivedPerSecond,
                now.Recent.BytesSentPerSecond);

        var (first, last) = (before.Connections, now.Connections);
        return new TopRates(
            (now.Requests.Total - before.Requests.Total) / seconds, (last.Total - first.Total) / seconds,
            (last.BytesReceived - first.BytesReceived) / seconds, (last.BytesSent - first.BytesSent) / seconds);
    }
}
