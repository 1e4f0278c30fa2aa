using System.Text.Unicode;

namespace FastCgi.Tool.Commands.Request;

internal sealed class RequestRun(ToolConsole console, RequestOptions options, CancellationToken cancellationToken)
{
    private readonly RecordLog _log = new(options.IsJson ? null : console.Say);
    private readonly Stopwatch _watch = Stopwatch.StartNew();

    public async Task<int> RunAsync()
    {
        using var client = new FastCgiClient(options.Address, new FastCgiClientOptions
        {
            ConnectTimeout = options.Timeout,
            Trace = options.IsVerbose ? _log : null,
        });
        using var sender = new RequestSender(client, options, options.IsVerbose && !options.IsJson ? console : null);
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        timeout.CancelAfter(options.Timeout);
        try
        {
            await using var response = await Task.Run(() => sender.SendAsync(timeout.Token)).WaitAsync(timeout.Token);
            return options.IsJson
                ? await WriteJsonAsync(sender, response, timeout.Token)
                : await WriteAsync(response, timeout.Token);
        }
        catch (FastCgiProtocolException exception)
        {
            if (exception.Completion is { StandardError.Length: > 0 } completion && !options.IsJson)
                WriteError(completion.StandardError);
            throw Failure(exception.Message);
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            throw Failure(Invariant($"No complete response within {options.Timeout.TotalSeconds} s."));
        }
    }

    private async Task<int> WriteAsync(FastCgiResponseMessage response, CancellationToken token)
    {
        if (options.WritesHead)
        {
            await console.Out.WriteLineAsync(
                PlainText.Line($"Status: {response.StatusCode} {response.ReasonPhrase}").TrimEnd());
            foreach (var (name, value) in response.Headers)
                await console.Out.WriteLineAsync(PlainText.Line($"{name}: {value}"));
            await console.Out.WriteLineAsync();
        }

        // No buffer, so that streamed output appears immediately. Write access only, so that a broken pipe is an error.
        var access = new FileStreamOptions { Mode = FileMode.Create, Access = FileAccess.Write, BufferSize = 0 };
        await using (var file = options.Output is { } path ? new FileStream(path, access) : null)
            await response.Body.CopyToAsync(file ?? console.Body, token);

        var completion = await response.Completion.WaitAsync(token);
        if (completion.StandardError.Length > 0)
            WriteError(completion.StandardError);
        if (options.IsVerbose)
            console.Say($"* {completion.ProtocolStatus}, appStatus {completion.AppStatus}, "
                + Invariant($"{_watch.Elapsed.TotalMilliseconds:0.0} ms"));
        else if (completion.AppStatus != 0)
            console.Say($"fastcgi: The application ended the request with appStatus {completion.AppStatus}.");
        return GetCode(response, completion);
    }

    private void WriteError(string text) => console.Say(PlainText.Lines(text).TrimEnd('\n'));

    private async Task<int> WriteJsonAsync(
        RequestSender sender, FastCgiResponseMessage response, CancellationToken token)
    {
        const int MostJson = 64 << 20;
        using var body = new MemoryStream();
        var buffer = new byte[64 * 1024];
        while (await response.Body.ReadAsync(buffer, token) is > 0 and var read)
        {
            if (body.Length + read > MostJson)
                throw Failure($"The body is larger than {MostJson >> 20} MiB. Request it without --json.");
            body.Write(buffer, 0, read);
        }

        var completion = await response.Completion.WaitAsync(token);
        var bytes = body.ToArray();
        if (options.Output is { } file)
            await File.WriteAllBytesAsync(file, bytes, token);

        var isText = Utf8.IsValid(bytes);
        console.WriteJson(
            new RequestDocument(response.StatusCode, response.ReasonPhrase,
                [.. response.Headers.Select(static header => new NamedValue(header.Key, header.Value))],
                isText ? Encoding.UTF8.GetString(bytes) : null, isText ? null : Convert.ToBase64String(bytes),
                completion.StandardError, completion.AppStatus, completion.ProtocolStatus.ToString(),
                Math.Round(_watch.Elapsed.TotalMilliseconds, 1),
                options.IsVerbose ? sender.ShownParameters : null, options.IsVerbose ? _log.Lines : null),
            ToolJson.Default.RequestDocument);
        return GetCode(response, completion);
    }

    private int GetCode(FastCgiResponseMessage response, FastCgiCompletion completion)
        => completion.AppStatus != 0 || (options.FailsOnErrorStatus && response.StatusCode >= 400)
            ? ExitCode.Failure
            : ExitCode.Ok;
}

internal sealed record RequestDocument(
    int Status, string Reason, NamedValue[] Headers, string? Body, string? BodyBase64, string StandardError,
    int AppStatus, string ProtocolStatus, double Milliseconds, IReadOnlyList<NamedValue>? Parameters,
    IReadOnlyList<string>? Records);

internal sealed record NamedValue(string Name, string Value);
