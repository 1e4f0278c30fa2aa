using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using System.Text;
using System.Text.Unicode;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Request;

/// <summary>One run of <c>request</c>.</summary>
internal sealed class RequestRun(ToolConsole console, RequestSettings settings)
{
    private readonly RecordLog _log = new(settings.IsVerbose && !settings.IsJson ? console.Error : null);
    private readonly Stopwatch _watch = Stopwatch.StartNew();

    public async Task<int> RunAsync(CancellationToken cancellationToken)
    {
        var options = new FastCgiClientOptions { KeepConnections = false, ConnectTimeout = settings.Timeout, Trace = settings.IsVerbose ? _log : null };
        using var client = new FastCgiClient(settings.Address, options);
        using var sender = new RequestSender(client, settings, settings.IsVerbose && !settings.IsJson ? console : null);
        if (settings.Repeat > 1)
            return await RepeatAsync(sender, cancellationToken);

        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        timeout.CancelAfter(settings.Timeout);
        try
        {
            await using var response = await sender.SendAsync(timeout.Token);
            return settings.IsJson ? await WriteJsonAsync(sender, response, timeout.Token) : await WriteAsync(response, timeout.Token);
        }
        catch (Exception exception) when (Explain(exception, cancellationToken) is { } explained)
        {
            if ((exception as FastCgiProtocolException)?.Completion is { StandardError.Length: > 0 } completion && !settings.IsJson)
                await WriteErrorAsync(completion.StandardError);
            throw explained;
        }
    }

    private ToolException? Explain(Exception exception, CancellationToken cancellationToken) => exception switch
    {
        SocketException => ToolException.NoConnection(settings.Address, exception),
        FastCgiProtocolException => new ToolException(ExitCode.Failure, exception.Message),
        OperationCanceledException when !cancellationToken.IsCancellationRequested
            => new ToolException(ExitCode.Failure, string.Create(CultureInfo.InvariantCulture,
                $"No complete response within {settings.Timeout.TotalSeconds} s.")),
        _ => null,
    };

    /// <summary>Sends the request several times, one after the other.</summary>
    private async Task<int> RepeatAsync(RequestSender sender, CancellationToken cancellationToken)
    {
        var times = new List<double>();
        var results = new SortedDictionary<string, int>(StringComparer.Ordinal);
        var code = ExitCode.Ok;
        for (var i = 0; i < settings.Repeat; i++)
        {
            var start = Stopwatch.GetTimestamp();
            var (result, resultCode) = await MeasureAsync(sender, cancellationToken);
            times.Add(Stopwatch.GetElapsedTime(start).TotalMilliseconds);
            results[result] = results.GetValueOrDefault(result) + 1;
            code = Math.Max(code, resultCode);
        }

        times.Sort();
        var document = new RepeatDocument(
            times.Count, Math.Round(_watch.Elapsed.TotalSeconds, 3), results, Percentile(times, 0), Percentile(times, 0.5), Percentile(times, 0.99),
                Percentile(times, 1));
        if (settings.IsJson)
        {
            console.WriteJson(document, ToolJson.Default.RepeatDocument);
            return code;
        }

        var rate = document.Requests / _watch.Elapsed.TotalSeconds;
        console.Out.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{document.Requests} requests in {document.Seconds:0.00} s, {rate:0.0} per second"));
        foreach (var (result, count) in results)
            console.Out.WriteLine(PlainText.Line($"{count} × {result}"));
        console.Out.WriteLine(string.Create(
            CultureInfo.InvariantCulture, $"fastest {document.Fastest:0.0} ms, median {document.Median:0.0} ms, p99 {document.P99:0.0} ms, slowest {document.Slowest:0.0} ms"));
        return code;
    }

    private static double Percentile(List<double> sorted, double part) => Math.Round(sorted[(int)Math.Ceiling((sorted.Count - 1) * part)], 1);

    private async Task<(string Result, int Code)> MeasureAsync(RequestSender sender, CancellationToken cancellationToken)
    {
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        timeout.CancelAfter(settings.Timeout);
        try
        {
            await using var response = await sender.SendAsync(timeout.Token);
            await response.Body.CopyToAsync(Stream.Null, timeout.Token);
            var completion = await response.Completion.WaitAsync(timeout.Token);
            var appStatus = completion.AppStatus == 0 ? "" : $", appStatus {completion.AppStatus}";
            return ($"status {response.StatusCode}{appStatus}", GetCode(response, completion));
        }
        catch (Exception exception) when (Explain(exception, cancellationToken) is { } explained)
        {
            return (explained.Message, explained.Code);
        }
    }

    private async Task<int> WriteAsync(FastCgiResponseMessage response, CancellationToken cancellationToken)
    {
        if (settings.ShowsHeaders)
        {
            await console.Out.WriteLineAsync(PlainText.Line($"Status: {response.StatusCode} {response.ReasonPhrase}").TrimEnd());
            foreach (var (name, value) in response.Headers)
                await console.Out.WriteLineAsync(PlainText.Line($"{name}: {value}"));
            await console.Out.WriteLineAsync();
            await console.Out.FlushAsync(cancellationToken);
        }

        await using (var file = settings.Output is { } path ? File.Create(path) : null)
            await CopyAsync(response.Body, file ?? console.Body, cancellationToken);

        var completion = await response.Completion.WaitAsync(cancellationToken);
        if (completion.StandardError.Length > 0)
            await WriteErrorAsync(completion.StandardError);
        var time = _watch.Elapsed.TotalMilliseconds;
        if (settings.IsVerbose)
            await console.Error.WriteLineAsync(string.Create(CultureInfo.InvariantCulture,
                $"* {completion.ProtocolStatus}, appStatus {completion.AppStatus}, {time:0.0} ms"));
        else if (completion.AppStatus != 0)
            await console.Error.WriteLineAsync($"fastcgi: The application ended the request with appStatus {completion.AppStatus}.");
        return GetCode(response, completion);
    }

    private Task WriteErrorAsync(string text) => console.Error.WriteLineAsync(PlainText.Lines(text).TrimEnd('\n'));

    /// <summary>Flushes after each read, so that a stream is seen at once.</summary>
    private static async Task CopyAsync(Stream from, Stream to, CancellationToken cancellationToken)
    {
        var buffer = new byte[32 * 1024];
        while (await from.ReadAsync(buffer, cancellationToken) is > 0 and var read)
        {
            await to.WriteAsync(buffer.AsMemory(0, read), cancellationToken);
            await to.FlushAsync(cancellationToken);
        }
    }

    private async Task<int> WriteJsonAsync(RequestSender sender, FastCgiResponseMessage response, CancellationToken cancellationToken)
    {
        using var body = new MemoryStream();
        await response.Body.CopyToAsync(body, cancellationToken);
        var completion = await response.Completion.WaitAsync(cancellationToken);
        var bytes = body.ToArray();
        if (settings.Output is { } file)
            await File.WriteAllBytesAsync(file, bytes, cancellationToken);

        var isText = Utf8.IsValid(bytes);
        console.WriteJson(
            new RequestDocument(
                response.StatusCode,
                response.ReasonPhrase,
                [.. response.Headers.Select(static header => new NamedValue(header.Key, header.Value))],
                isText ? Encoding.UTF8.GetString(bytes) : null,
                isText ? null : Convert.ToBase64String(bytes),
                completion.StandardError,
                completion.AppStatus,
                completion.ProtocolStatus.ToString(),
                Math.Round(_watch.Elapsed.TotalMilliseconds, 1),
                settings.IsVerbose ? [.. sender.ShownParameters.Select(static parameter => new NamedValue(parameter.Name, parameter.Value))] : null,
                settings.IsVerbose ? _log.Lines : null),
            ToolJson.Default.RequestDocument);
        return GetCode(response, completion);
    }

    private int GetCode(FastCgiResponseMessage response, FastCgiCompletion completion)
        => completion.AppStatus != 0 || (settings.FailsOnErrorStatus && response.StatusCode >= 400) ? ExitCode.Failure : ExitCode.Ok;
}

/// <summary>What <c>request --json</c> writes.</summary>
internal sealed record RequestDocument(
    int Status, string Reason, NamedValue[] Headers, string? Body, string? BodyBase64, string StandardError, int AppStatus, string ProtocolStatus,
        double Milliseconds,
    NamedValue[]? Parameters, IReadOnlyList<string>? Records);

/// <summary>What <c>request --repeat --json</c> writes. Times are in milliseconds.</summary>
internal sealed record RepeatDocument(
    int Requests, double Seconds, IReadOnlyDictionary<string, int> Results, double Fastest, double Median, double P99, double Slowest);

/// <summary>A header or a parameter.</summary>
internal sealed record NamedValue(string Name, string Value);
