using System.Net;
using System.Security.Cryptography;

namespace FastCgi.AspNetCore.Soak;

/// <summary>
/// Sends requests of all kinds directly to the server, in sequence or several at a time, and checks each response.
/// </summary>
internal sealed class DirectLane(EndPoint endPoint, Progress progress, int seed, bool keepsConnection)
{
    // The highest ids are reached soon, even in a short run.
    private const ushort FirstId = 65_000;
    private const int MultiplexedCount = 8;

    private readonly Random _random = new(seed);
    private SoakConnection? _connection;
    private string? _cookie;
    private int _sessionCount;

    /// <summary>Runs until there are enough requests.</summary>
    public async Task RunAsync()
    {
        while (progress.IsRunning)
        {
            try
            {
                _connection ??= await SoakConnection.ConnectAsync(endPoint, FirstId);
                await StepAsync(_connection).WaitAsync(Waiting.Patience);
                progress.NoteWraps(_connection.WrapCount);
                if (!keepsConnection)
                    await EndConnectionAsync();
            }
            catch (Exception exception)
            {
                progress.Fail($"{endPoint}: {exception.GetType().Name}: {exception.Message}");
                _connection?.Dispose();
                _connection = null;
            }
        }

        _connection?.Dispose();
    }

    private async Task EndConnectionAsync()
    {
        await _connection!.ReadEndAsync().WaitAsync(Waiting.Patience);
        _connection.Dispose();
        _connection = null;
    }

    private Task StepAsync(SoakConnection connection) => _random.Next(100) switch
    {
        < 38 => GetAsync(
            connection,
            "/hello",
            "hello",
            static answer => answer.HasStatus(200) && answer.Text == SoakApplication.Hello),
        < 50 when keepsConnection => MultiplexAsync(connection),
        < 64 => UploadAsync(connection, _random.Next(2_000), "POST"),
        < 66 => UploadAsync(connection, _random.Next(50_000, 400_000), "upload"),
        < 68 => DownloadAsync(connection, _random.Next(50_000, 1_000_000)),
        < 72 => GetAsync(
            connection,
            "/events",
            "SSE",
            static answer => answer.Text == string.Concat(
                Enumerable.Range(0, SoakApplication.EventCount).Select(static i => $"data: {i}\n\n"))),
        < 76 => AbortAsync(connection),
        < 82 => HeadAsync(connection),
        < 88 => GetAsync(connection, "/missing", "404", static answer => answer.HasStatus(404)),
        _ => VisitAsync(connection),
    };

    private async Task GetAsync(
        SoakConnection connection, string uri, string kind, Func<Answer, bool> isRight, string method = "GET")
    {
        var id = connection.NextId();
        await connection.SendAsync(RecordBytes.Get(id, uri, keepsConnection, method));
        var answer = (await connection.ReadAsync(id))[id];
        progress.Count(kind, answer.IsComplete && isRight(answer), answer);
    }

    private Task HeadAsync(SoakConnection connection)
        => GetAsync(
            connection, "/hello", "HEAD", static answer => answer.HasStatus(200) && answer.Body.Length == 0, "HEAD");

    private Task DownloadAsync(SoakConnection connection, int length)
        => GetAsync(
            connection,
            $"/download?length={length}",
            "download",
            answer => answer.Body.AsSpan().SequenceEqual(SoakApplication.GetContent(length)));

    private async Task UploadAsync(SoakConnection connection, int length, string kind)
    {
        var body = SoakApplication.GetContent(length).ToArray();
        var id = connection.NextId();
        await connection.SendAsync(RecordBytes.Post(id, "/upload", body, keepsConnection));
        var answer = (await connection.ReadAsync(id))[id];
        progress.Count(
            kind, answer.IsComplete && answer.Text == $"{length} {Convert.ToHexString(SHA256.HashData(body))}", answer);
    }

    private async Task AbortAsync(SoakConnection connection)
    {
        var id = connection.NextId();
        await connection.SendAsync(
            [
                .. RecordBytes.Begin(id, 1, keepsConnection),
                .. RecordBytes.ParamsStream(id, RecordBytes.RequestParams("GET", "/wait")),
            ]);
        if (_random.Next(2) == 0)
            await Task.Yield();
        await connection.SendAsync(RecordBytes.Abort(id));
        var answer = (await connection.ReadAsync(id))[id];
        progress.Count("abort", !answer.IsComplete && answer.Body.Length == 0, answer);
    }

    private async Task MultiplexAsync(SoakConnection connection)
    {
        int[] ids = [.. Enumerable.Range(0, MultiplexedCount).Select(_ => (int)connection.NextId())];
        await connection.SendAsync(
        [
            .. ids.SelectMany(static id => RecordBytes.Begin(id)),
            .. ids.Reverse()
                .SelectMany(static id => RecordBytes.ParamsStream(id, RecordBytes.RequestParams(uri: "/hello"))),
            .. ids.SelectMany(static id => RecordBytes.Record(RecordBytes.Stdin, id)),
        ]);
        foreach (var answer in (await connection.ReadAsync(ids)).Values)
            progress.Count("multiplexed", answer.IsComplete && answer.Text == SoakApplication.Hello, answer);
    }

    private async Task VisitAsync(SoakConnection connection)
    {
        var id = connection.NextId();
        (string, string)[] cookie = _cookie is null ? [] : [("HTTP_COOKIE", _cookie)];
        await connection.SendAsync(RecordBytes.Get(id, "/session", keepsConnection, "GET", cookie));
        var answer = (await connection.ReadAsync(id))[id];
        progress.Count("session", answer.IsComplete && answer.Text == $"<p>{++_sessionCount}</p>", answer);
        _cookie ??= answer.Head.Split("\r\n")
            .Single(static line => line.StartsWith("Set-Cookie: ", StringComparison.Ordinal))[12..]
            .Split(';')[0];
        // Users come and go.
        if (_sessionCount == 50)
            (_cookie, _sessionCount) = (null, 0);
    }
}
