using System.Net.Sockets;
using System.Text.Json;
using FastCgi.AspNetCore.Status;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Top;

/// <summary>One run of <c>top</c>.</summary>
internal sealed class TopRun(ToolConsole console, TopSettings settings)
{
    // What the server itself looks at in a second does not change much faster.
    private static readonly TimeSpan s_interval = TimeSpan.FromSeconds(2);

    public async Task<int> RunAsync(CancellationToken cancellationToken)
    {
        var isUrl = TopCommand.IsUrl(settings.Target);
        using HttpMessageHandler handler = isUrl ? new SocketsHttpHandler() : new FastCgiHttpHandler(settings.Target);
        using var client = new HttpClient(handler) { Timeout = settings.Timeout };
        var uri = GetUri(isUrl);
        try
        {
            while (true)
            {
                if (await ShowAsync(client, uri, cancellationToken) is var code && (settings.IsOnce || code != ExitCode.Ok))
                    return code;

                await Task.Delay(s_interval, cancellationToken);
            }
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            return ExitCode.Ok;
        }
        catch (OperationCanceledException)
        {
            return console.Fail(ExitCode.Failure, $"{settings.Target}: there was no answer in time.", settings.IsJson);
        }
        catch (Exception exception) when (exception is HttpRequestException or SocketException)
        {
            var isUnreached = exception is SocketException || exception.InnerException is SocketException;
            return console.Fail(isUnreached ? ExitCode.CannotConnect : ExitCode.Failure, $"{settings.Target}: {(exception.InnerException ?? exception).Message}", settings.IsJson);
        }
        catch (Exception exception) when (exception is IOException or JsonException)
        {
            return console.Fail(ExitCode.Failure, $"{settings.Target}: {exception.Message}", settings.IsJson);
        }
    }

    private Uri GetUri(bool isUrl)
    {
        var text = isUrl ? settings.Target : "http://localhost/" + settings.Path.TrimStart('/');
        return new Uri(text + (text.Contains('?', StringComparison.Ordinal) ? "&" : "?") + "format=json");
    }

    private async Task<int> ShowAsync(HttpClient client, Uri uri, CancellationToken cancellationToken)
    {
        using var response = await client.GetAsync(uri, cancellationToken);
        if (!response.IsSuccessStatusCode)
            return console.Fail(ExitCode.Failure, $"{uri.AbsolutePath} of {settings.Target} is answered with {(int)response.StatusCode}: map the status with MapFastCgiStatus(), or set FastCgi:StatusAddress.", settings.IsJson);

        var text = await response.Content.ReadAsStringAsync(cancellationToken);
        if (JsonSerializer.Deserialize(text, StatusJson.Default.StatusSnapshot) is not { } status)
            return console.Fail(ExitCode.Failure, $"{settings.Target} has no status.", settings.IsJson);

        if (settings.IsJson)
        {
            using var document = JsonDocument.Parse(text);
            console.Out.WriteLine(JsonSerializer.Serialize(document.RootElement, ToolJson.Default.JsonElement));
        }
        else
        {
            var picture = new TopPicture(status, console);
            if (console.IsTerminal && !settings.IsOnce)
                console.Out.Write("\e[H\e[2J");
            picture.Write(console.IsTerminal && !settings.IsOnce ? console.Height : int.MaxValue);
        }

        await console.Out.FlushAsync(cancellationToken);
        return ExitCode.Ok;
    }
}
