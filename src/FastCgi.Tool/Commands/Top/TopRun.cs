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
        using var client = new HttpClient(handler) { Timeout = settings.Timeout, MaxResponseContentBufferSize = 64 * 1024 * 1024 };
        var uri = GetUri(isUrl);
        LiveScreen? screen = null;
        try
        {
            while (true)
            {
                var (code, text, status) = await LookAsync(client, uri, cancellationToken);
                if (status is null)
                    return Fail(code, text, ref screen);

                // Only when there is something to show: what goes wrong at once stands where it was asked for.
                screen ??= settings.IsOnce || settings.IsJson ? null : new LiveScreen(console);
                Show(text, status, screen);
                if (settings.IsOnce)
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
            return Fail(ExitCode.Failure, $"{settings.Target}: there was no answer in time.", ref screen);
        }
        catch (Exception exception) when (exception is HttpRequestException or SocketException)
        {
            var isUnreached = exception is SocketException || exception.InnerException is SocketException;
            return Fail(isUnreached ? ExitCode.CannotConnect : ExitCode.Failure, $"{settings.Target}: {(exception.InnerException ?? exception).Message}", ref screen);
        }
        catch (Exception exception) when (exception is IOException or JsonException)
        {
            return Fail(ExitCode.Failure, $"{settings.Target}: {exception.Message}", ref screen);
        }
        finally
        {
            screen?.Dispose();
        }
    }

    /// <summary>Says why there is nothing to show, on the screen that stays.</summary>
    private int Fail(int code, string message, ref LiveScreen? screen)
    {
        screen?.Dispose();
        screen = null;
        return console.Fail(code, message, settings.IsJson);
    }

    private Uri GetUri(bool isUrl)
    {
        var text = isUrl ? settings.Target : "http://localhost/" + settings.Path.TrimStart('/');
        return new Uri(text + (text.Contains('?', StringComparison.Ordinal) ? "&" : "?") + "format=json");
    }

    /// <returns>The text of the status and what it says; without it, the code to end with, and why.</returns>
    private async Task<(int Code, string Text, StatusSnapshot? Status)> LookAsync(HttpClient client, Uri uri, CancellationToken cancellationToken)
    {
        using var response = await client.GetAsync(uri, cancellationToken);
        if (!response.IsSuccessStatusCode)
            return (ExitCode.Failure, $"{uri.AbsolutePath} of {settings.Target} is answered with {(int)response.StatusCode}: map the status with MapFastCgiStatus(), and outside Development add RequireAuthorization() or AllowAnonymous().", null);

        var text = await response.Content.ReadAsStringAsync(cancellationToken);
        return (ExitCode.Ok, text, StatusReader.Read(text));
    }

    private void Show(string text, StatusSnapshot status, LiveScreen? screen)
    {
        if (screen is not null)
        {
            screen.Show((width, height) => new TopPicture(status, console, width).Draw(height));
            return;
        }

        if (settings.IsJson)
        {
            using var document = JsonDocument.Parse(text);
            console.Out.WriteLine(JsonSerializer.Serialize(document.RootElement, ToolJson.Default.JsonElement));
        }
        else
        {
            foreach (var line in new TopPicture(status, console, console.Width).Draw(int.MaxValue))
                console.Out.WriteLine(line);
        }

        console.Out.Flush();
    }
}
