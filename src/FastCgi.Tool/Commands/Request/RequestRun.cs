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
        if (options.Repeat > 1)
            return await RepeatAsync(sender, options.Repeat);

        return await AttemptAsync(sender, (response, token)
            => options.IsJson ? WriteJsonAsync(sender, response, token) : WriteAsync(response, token));
    }

    private async Task<T> AttemptAsync<T>(
        RequestSender sender, Func<FastCgiResponseMessage, CancellationToken, Task<T>> use)
    {
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        timeout.CancelAfter(options.Timeout);
        try
        {
            await using var response = await Task.Run(() => sender.SendAsync(timeout.Token)).WaitAsync(timeout.Token);
            return await use(response, timeout.Token);
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

    private async Task<int> RepeatAsync(RequestSender sender, int count)
    {
        var times = new List<double>();
        var results = new SortedDictionary<string, int>(StringComparer.Ordinal);
        var code = ExitCode.Ok;
        while (times.Count < count)
        {
            var start = Stopwatch.GetTimestamp();
            var (result, resultCode) = await MeasureAsync(sender);
            times.Add(Stopwatch.GetElapsedTime(start).TotalMilliseconds);
            results[result] = results.GetValueOrDefault(result) + 1;
            code = Math.Max(code, resultCode);
        }

        times.Sort();
        var seconds = _watch.Elapsed.TotalSeconds;
        var (fastest, median, p99, slowest) =
            (Percentile(times, 0), Percentile(times, 0.5), Percentile(times, 0.99), Percentile(times, 1));
        if (options.IsJson)
        {
            console.WriteJson(new RepeatDocument(count, Math.Round(seconds, 3), results, fastest, median, p99, slowest),
                ToolJson.Default.RepeatDocument);
            return code;
        }

        console.Out.WriteLine(Invariant($"{count} requests in {seconds:0.00} s, {count / seconds:0.0} per second"));
        foreach (var (result, number) in results)
            console.Out.WriteLine(PlainText.Line($"{number} × {result}"));
        console.Out.WriteLine(Invariant(
            $"fastest {fastest:0.0} ms, median {median:0.0} ms, p99 {p99:0.0} ms, slowest {slowest:0.0} ms"));
        return code;
    }

    private static double Percentile(List<double> sorted, double part)
        => Math.Round(sorted[(int)Math.Ceiling((sorted.Count - 1) * part)], 1);

    private async Task<(string Result, int Code)> MeasureAsync(RequestSender sender)
    {
        try
        {
            return await AttemptAsync(sender, DrainAsync);
        }
        catch (Exception exception) when (exception is ToolException or SocketException)
        {
            return (exception.Message, (exception as ToolException)?.Code ?? ExitCode.CannotRun);
        }
    }

    private async Task<(string Result, int Code)> DrainAsync(FastCgiResponseMessage response, CancellationToken token)
    {
        await response.Body.CopyToAsync(Stream.Null, token);
        var completion = await response.Completion.WaitAsync(token);
        var appStatus = completion.AppStatus == 0 ? "" : $", appStatus {completion.AppStatus}";
        return ($"status {response.StatusCode}{appStatus}", GetCode(response, completion));
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

internal sealed record RepeatDocument(
    int Requests, double Seconds, IReadOnlyDictionary<string, int> Results, double Fastest, double Median, double P99,
        double Slowest);

internal sealed record NamedValue(string Name, string Value);
