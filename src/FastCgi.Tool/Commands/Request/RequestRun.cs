using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Text.Unicode;
using FastCgi.Client;
using FastCgi.Client.Cgi;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Request;

/// <summary>One run of <c>request</c>.</summary>
internal sealed class RequestRun(ToolConsole console, RequestSettings settings)
{
    private readonly RecordLog _log = new(settings.IsVerbose && !settings.IsJson ? console.Error : null);
    private readonly Stopwatch _watch = Stopwatch.StartNew();

    public async Task<int> RunAsync(CancellationToken cancellationToken)
    {
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        timeout.CancelAfter(settings.Timeout);
        using var client = new FastCgiClient(settings.Address, new FastCgiClientOptions { KeepConnections = false, ConnectTimeout = settings.Timeout, Trace = settings.IsVerbose ? _log : null });
        try
        {
            await using var body = OpenData();
            await using var filtered = settings.FilterFile is null ? null : File.OpenRead(settings.FilterFile);
            var request = CreateRequest(body, filtered);
            if (settings.IsVerbose && !settings.IsJson)
                ShowParameters(request);
            await using var response = await client.SendAsync(request, timeout.Token);
            return settings.IsJson
                ? await WriteJsonAsync(request, response, timeout.Token)
                : await WriteAsync(response, timeout.Token);
        }
        catch (SocketException exception)
        {
            return console.Fail(ExitCode.CannotConnect, $"No connection to {settings.Address}: {exception.Message}", settings.IsJson);
        }
        catch (FastCgiProtocolException exception)
        {
            if (exception.Completion is { StandardError.Length: > 0 } completion && !settings.IsJson)
                await console.Error.WriteLineAsync(PlainText.Lines(completion.StandardError).TrimEnd('\n'));
            return console.Fail(ExitCode.Failure, exception.Message, settings.IsJson);
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            return console.Fail(ExitCode.Failure, $"The answer was not there within {settings.Timeout.TotalSeconds.ToString(CultureInfo.InvariantCulture)} s.", settings.IsJson);
        }
        catch (OperationCanceledException)
        {
            return console.Fail(ExitCode.Failure, "Interrupted.", settings.IsJson);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or ArgumentException)
        {
            return console.Fail(ExitCode.Usage, exception.Message, settings.IsJson);
        }
    }

    private Stream? OpenData() => settings.Data switch
    {
        null => null,
        "@-" => Console.OpenStandardInput(),
        ['@', .. var file] => File.OpenRead(file),
        var text => new MemoryStream(Encoding.UTF8.GetBytes(text)),
    };

    private FastCgiRequestMessage CreateRequest(Stream? body, FileStream? filtered)
    {
        var target = RequestTarget.TryParse(settings.Url)!;
        var headers = settings.Headers.Select(static header => CommonOptions.Split(header, ':')).Select(static header => (header.Name, Value: header.Value.Trim())).ToList();
        string? Find(string name) => headers.LastOrDefault(header => header.Name.Equals(name, StringComparison.OrdinalIgnoreCase)).Value;

        var request = new FastCgiRequestMessage { Role = settings.Role, Body = body, Data = filtered };
        var contentType = Find("Content-Type") ?? (body is null ? "" : "application/x-www-form-urlencoded");
        var contentLength = Find("Content-Length") ?? (body is { CanSeek: true } ? body.Length.ToString(CultureInfo.InvariantCulture) : "");
        HttpParameters.AddTarget(request.Parameters, settings.Method ?? (body is null ? "GET" : "POST"), target.PathAndQuery, contentType, contentLength);
        var local = new IPEndPoint(IPAddress.Loopback, target.Port);
        HttpParameters.AddConnection(request.Parameters, target.Scheme, "HTTP/1.1", new IPEndPoint(IPAddress.Loopback, 0), local, target.Host);
        request.Parameters.Add("HTTP_HOST", Find("Host") ?? target.HostAndPort);
        request.Parameters.Add("HTTP_USER_AGENT", Find("User-Agent") ?? "fastcgi-request");
        request.Parameters.Add("HTTP_ACCEPT", Find("Accept") ?? "*/*");
        string[] made = ["Host", "User-Agent", "Accept", "Content-Type", "Content-Length"];
        foreach (var (name, value) in headers.Where(header => !made.Contains(header.Name, StringComparer.OrdinalIgnoreCase)))
            request.Parameters.Add(HttpParameters.ToParameterName(name), value);
        if (filtered is not null)
        {
            request.Parameters.Add("FCGI_DATA_LENGTH", filtered.Length.ToString(CultureInfo.InvariantCulture));
            request.Parameters.Add("FCGI_DATA_LAST_MOD", new DateTimeOffset(File.GetLastWriteTimeUtc(filtered.Name)).ToUnixTimeSeconds().ToString(CultureInfo.InvariantCulture));
        }

        foreach (var (name, value) in settings.Parameters.Select(static parameter => CommonOptions.Split(parameter, '=')))
            request.Parameters[name] = value;
        return request;
    }

    private void ShowParameters(FastCgiRequestMessage request)
    {
        foreach (var parameter in request.Parameters)
            console.Error.WriteLine($"* {parameter.Name}={Secrets.Show(parameter.Name, parameter.Value, settings.ShowsSecrets)}");
    }

    private async Task<int> WriteAsync(FastCgiResponseMessage response, CancellationToken cancellationToken)
    {
        if (settings.IncludesHeaders)
        {
            await console.Out.WriteLineAsync(PlainText.Line($"Status: {response.StatusCode} {response.ReasonPhrase}").TrimEnd());
            foreach (var (name, value) in response.Headers)
                await console.Out.WriteLineAsync(PlainText.Line($"{name}: {value}"));
            await console.Out.WriteLineAsync();
            await console.Out.FlushAsync(cancellationToken);
        }

        if (settings.Output is { } file)
        {
            await using var stream = File.Create(file);
            await response.Body.CopyToAsync(stream, cancellationToken);
        }
        else
        {
            await CopyAsync(response.Body, console.Body, cancellationToken);
        }

        var completion = await response.Completion.WaitAsync(cancellationToken);
        if (completion.StandardError.Length > 0)
            await console.Error.WriteLineAsync(PlainText.Lines(completion.StandardError).TrimEnd('\n'));
        if (settings.IsVerbose)
            await console.Error.WriteLineAsync(string.Create(CultureInfo.InvariantCulture, $"* {completion.ProtocolStatus}, appStatus {completion.AppStatus}, {_watch.Elapsed.TotalMilliseconds:0.0} ms"));
        return GetExitCode(response);
    }

    /// <summary>What streams is seen at once.</summary>
    private static async Task CopyAsync(Stream from, Stream to, CancellationToken cancellationToken)
    {
        var buffer = new byte[32 * 1024];
        while (await from.ReadAsync(buffer, cancellationToken) is > 0 and var read)
        {
            await to.WriteAsync(buffer.AsMemory(0, read), cancellationToken);
            await to.FlushAsync(cancellationToken);
        }
    }

    private async Task<int> WriteJsonAsync(FastCgiRequestMessage request, FastCgiResponseMessage response, CancellationToken cancellationToken)
    {
        using var body = new MemoryStream();
        await response.Body.CopyToAsync(body, cancellationToken);
        var completion = await response.Completion.WaitAsync(cancellationToken);
        if (settings.Output is { } file)
            await File.WriteAllBytesAsync(file, body.ToArray(), cancellationToken);

        var bytes = body.ToArray();
        var isText = Utf8.IsValid(bytes);
        console.WriteJson(new RequestDocument(
            response.StatusCode,
            response.ReasonPhrase,
            [.. response.Headers.Select(static header => new NamedValue(header.Key, header.Value))],
            isText ? Encoding.UTF8.GetString(bytes) : null,
            isText ? null : Convert.ToBase64String(bytes),
            completion.StandardError,
            completion.AppStatus,
            completion.ProtocolStatus.ToString(),
            Math.Round(_watch.Elapsed.TotalMilliseconds, 1),
            settings.IsVerbose ? [.. request.Parameters.Select(parameter => new NamedValue(parameter.Name, Secrets.Show(parameter.Name, parameter.Value, settings.ShowsSecrets)))] : null,
            settings.IsVerbose ? _log.Lines : null), ToolJson.Default.RequestDocument);
        return GetExitCode(response);
    }

    private int GetExitCode(FastCgiResponseMessage response) => settings.Fails && response.StatusCode >= 400 ? ExitCode.Failure : ExitCode.Ok;
}

/// <summary>What <c>request --json</c> writes.</summary>
internal sealed record RequestDocument(
    int Status, string Reason, NamedValue[] Headers, string? Body, string? BodyBase64, string StandardError, int AppStatus, string ProtocolStatus, double Milliseconds,
    NamedValue[]? Parameters, IReadOnlyList<string>? Records);

/// <summary>A header or a parameter.</summary>
internal sealed record NamedValue(string Name, string Value);
