using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// A conversation of a web server with the server, written as words that are carried out one after the other.
/// </summary>
/// <remarks>
/// <para>
/// The web server sends. <c>get:2/slow.last</c> is a GET with id 2 (otherwise 1) for /slow without KEEP_CONN, and
/// <c>post10/hash</c> is all of a POST with CONTENT_LENGTH 10 but its body. <c>begin</c>, <c>pairs</c>, <c>params</c>
/// (with their end), <c>stdin5</c>, <c>stdin</c> (the end), <c>abort</c>, <c>ask</c> (whether the server multiplexes),
/// and <c>values</c> are records whose content has that length, <c>begin3</c> is a request for role 3, and
/// <c>type9:0</c> is a record of any type.
/// <c>get&lt;4</c> is only the first four bytes, <c>get>4</c> is the rest, and <c>get*</c> arrives byte by byte. Words
/// that are joined by + arrive in one receive.
/// </para>
/// <para>
/// Something happens: <c>30s</c>, <c>5m</c> and <c>1h</c> pass, <c>go</c> lets the handlers of /slow continue,
/// <c>stop</c> stops the server, <c>kill</c> does without waiting, <c>fail</c> ends the connection for an error of its
/// engine, and <c>hold</c> and <c>release</c> hold sends. From <c>undelivered</c> until <c>delivered</c>, the system
/// still holds what was sent; with <c>trickle</c>, the web server takes one byte of it.
/// </para>
/// <para>
/// The test expects: <c>2:408</c> is the response to id 2, whose text is right if it is a 200, and <c>2:end</c> is only
/// its END_REQUEST; with <c>=1</c>, the protocol status is 1. <c>skip</c> reads whatever has come. All others are in
/// <see cref="ExpectAsync"/>.
/// </para>
/// </remarks>
internal sealed partial class Script
{
    private static readonly string s_large = new('x', 100_000);

    private readonly TestServer _server;
    private readonly FrontEnd _frontEnd;
    private readonly TaskCompletionSource _go;
    private readonly Dictionary<int, (string Target, List<byte> Body, int Length)> _requests = [];
    private Task _stopping = Task.CompletedTask;

    private Script(TestServer server, TaskCompletionSource go)
        => (_server, _frontEnd, _go) = (server, server.Connect(), go);

    private MemoryTransport Transport => _frontEnd.Transport;

    /// <summary>Plays a script.</summary>
    /// <param name="words">The words, separated by blanks.</param>
    /// <param name="configure">Sets the limits.</param>
    /// <param name="expects">The error that is logged.</param>
    /// <param name="afterwards">Checks the server.</param>
    public static async Task PlayAsync(
        string words,
        Action<FastCgiServerLimits>? configure = null,
        string? expects = null,
        Action<TestServer>? afterwards = null)
    {
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(
            context => RunAsync(context, go.Task), options => configure?.Invoke(options.Limits), expects);
        var script = new Script(server, go);
        try
        {
            foreach (var word in words.Split(' ', StringSplitOptions.RemoveEmptyEntries))
            {
                if (!script.Act(word) && !script.Send(word))
                    await script.ExpectAsync(word);
            }

            afterwards?.Invoke(server);
        }
        finally
        {
            script._frontEnd.Close();
            go.TrySetResult();
        }

        await script._stopping.Within("the stop");
    }

    private static async Task RunAsync(HttpContext context, Task go)
    {
        var path = context.Request.Path.Value!;
        if (path == "/wait")
            await Apps.UntilAborted(context);
        if (path == "/large")
        {
            await context.Response.WriteAsync(s_large);
            return;
        }

        if (path == "/never")
            throw new InvalidOperationException("The application was called.");
        if (path is "/slow" or "/slow-hash" or "/complete" or "/abort")
            await go;
        if (path == "/abort")
            context.Abort();
        if (path == "/complete")
        {
            await context.Request.BodyReader.CompleteAsync();
            await Apps.UntilAborted(context);
        }

        await (path.EndsWith("hash", StringComparison.Ordinal) ? Apps.BodyHash(context) : Apps.Target(context));
    }

    private bool Act(string word)
    {
        if (Time().Match(word) is { Success: true } time)
        {
            var count = int.Parse(time.Groups[1].ValueSpan, CultureInfo.InvariantCulture);
            _server.Clock.Advance(time.Groups[2].Value switch
            {
                "s" => TimeSpan.FromSeconds(count),
                "m" => TimeSpan.FromMinutes(count),
                _ => TimeSpan.FromHours(count),
            });
            return true;
        }

        switch (word)
        {
            case "go":
                _go.SetResult();
                return true;
            case "stop":
                _stopping = _server.StopAsync();
                return true;
            case "kill":
                _stopping = _server.StopAsync(new CancellationToken(canceled: true));
                return true;
            case "fail":
                Transport.Connection.Fail();
                return true;
            case "hold":
                Transport.HoldSends();
                return true;
            case "release":
                Transport.ReleaseSend(continues: false);
                return true;
            case "skip":
                _frontEnd.ReadAvailable();
                return true;
            case "undelivered" or "trickle" or "delivered":
                Transport.Undelivered = word switch
                {
                    "undelivered" => 50_000,
                    "trickle" => Transport.Undelivered - 1,
                    _ => 0,
                };
                return true;
            default:
                return false;
        }
    }

    private bool Send(string words)
    {
        var parts = words.Split('+').Select(static word => Sent().Match(word)).ToList();
        if (!parts.TrueForAll(static part => part.Success))
            return false;

        byte[] bytes = [.. parts.SelectMany(Encode)];
        if (words.EndsWith('*'))
            _frontEnd.SendByteByByte(bytes);
        else
            _frontEnd.Send(bytes);
        return true;
    }

    private byte[] Encode(Match word)
    {
        var id = word.Groups["id"] is { Success: true } given
            ? int.Parse(given.ValueSpan, CultureInfo.InvariantCulture)
            : 1;
        var number = word.Groups["number"].Value;
        var length = int.TryParse(number, CultureInfo.InvariantCulture, out var known) ? known : 0;
        var path = word.Groups["path"] is { Success: true } named ? named.Value : "/";
        var keeps = !word.Groups["last"].Success;
        var what = word.Groups["what"].Value;
        if (what is "get" or "post" or "params")
            _requests[id] = ($"{(what == "post" ? "POST" : "GET")} {path}", [], number.Length == 0 ? -1 : known);

        var bytes = what switch
        {
            "get" => RecordBytes.Get(id, path, keeps),
            "post" => RecordBytes.PostHead(number, id, path, keeps),
            "begin" => RecordBytes.Begin(id, Math.Max(1, length), keeps),
            "pairs" => RecordBytes.Record(
                RecordBytes.Params, id, RecordBytes.Pairs(RecordBytes.RequestParams("GET", path))),
            "params" => RecordBytes.ParamsStream(id, RecordBytes.RequestParams("GET", path)),
            "stdin" => RecordBytes.Record(RecordBytes.Stdin, id, GetContent(id, length)),
            "abort" => RecordBytes.Record(RecordBytes.AbortRequest, id, new byte[length]),
            "ask" => RecordBytes.Record(RecordBytes.GetValues, 0, RecordBytes.Pairs(("FCGI_MPXS_CONNS", ""))),
            "values" => RecordBytes.Record(RecordBytes.GetValues, 0, new byte[length]),
            "type" => RecordBytes.Record((byte)length, id, new byte[8]),
            _ => new byte[1],
        };
        if (word.Groups["to"] is { Success: true } to)
            return bytes[..int.Parse(to.ValueSpan, CultureInfo.InvariantCulture)];
        return word.Groups["from"] is { Success: true } from
            ? bytes[int.Parse(from.ValueSpan, CultureInfo.InvariantCulture)..]
            : bytes;
    }

    private byte[] GetContent(int id, int length)
    {
        if (!_requests.TryGetValue(id, out var request))
            return new byte[length];

        request.Body.AddRange(Apps.Pattern(request.Body.Count + length)[request.Body.Count..]);
        return [.. request.Body.TakeLast(length)];
    }

    private async Task ExpectAsync(string word)
    {
        switch (word)
        {
            case "open":
                Assert.False(Transport.IsClosed || Transport.IsReset, "The connection is not open.");
                break;
            case "closed":
                await Transport.WaitUntilAsync(() => Transport.IsClosed, "the close");
                break;
            case "stopped":
                await _stopping.Within("the stop");
                break;
            case "reset":
                Assert.True(Transport.IsReset, "The connection was not reset.");
                break;
            case "unreset":
                Assert.False(Transport.IsReset, "The connection was reset.");
                break;
            case "ended":
                Assert.True(Transport.IsClosed || Transport.IsReset, "The connection is open.");
                break;
            case "paused" or "unpaused":
                Assert.Equal(word == "paused", _frontEnd.IsPaused);
                break;
            case "resumed":
                await Transport.WaitUntilAsync(() => Transport.ResumeCount == 1, "receiving to be resumed");
                break;
            case "unresumed":
                Assert.Equal(0, Transport.ResumeCount);
                break;
            case "silent":
                Assert.Empty(_frontEnd.ReadAvailable());
                break;
            // More of the request may still be on its way, so that closing would lose the response.
            case "incomplete":
                Assert.False(_frontEnd.IsInputComplete);
                break;
            // An empty record of management, in the same send as END_REQUEST.
            case "notice":
                var notice = Assert.Single(_frontEnd.ReadAvailable());
                Assert.Equal((RecordBytes.GetValuesResult, 0), (notice.Type, notice.Id));
                Assert.Empty(notice.Content);
                break;
            case nameof(CloseAction.HalfClose) or nameof(CloseAction.Close) or nameof(CloseAction.CheckInput):
                await Transport.WaitUntilAsync(
                    () => $"{Transport.Decisions.LastOrDefault()}" == word, $"the decision {word}");
                break;
            default:
                await ExpectAnswerAsync(word);
                break;
        }
    }

    private async Task ExpectAnswerAsync(string word)
    {
        var answer = Answer().Match(word);
        Assert.True(answer.Success, $"The word {word} is not known.");
        var id = answer.Groups["id"] is { Success: true } given
            ? int.Parse(given.ValueSpan, CultureInfo.InvariantCulture)
            : 1;
        var status = answer.Groups["status"] is { Success: true } named ? (byte)(named.Value[0] - '0') : (byte)0;
        if (answer.Groups["what"].Value == "end")
        {
            var end = await _frontEnd.ReadRecordAsync();
            Assert.Equal((RecordBytes.EndRequest, id, status), (end.Type, end.Id, end.Content[4]));
            return;
        }

        var response = await _frontEnd.ReadResponseAsync(id);
        Assert.Equal(answer.Groups["what"].Value, $"{response.Status}");
        Assert.True(status == 0 || status == response.ProtocolStatus, $"The status is {response.ProtocolStatus}.");
        if (response.Status == 200)
            Assert.Equal(GetText(id), response.Text);
    }

    private string GetText(int id)
    {
        var (target, body, length) = _requests[id];
        if (target.EndsWith("/large", StringComparison.Ordinal))
            return s_large;

        return target.EndsWith("hash", StringComparison.Ordinal)
            ? Apps.HashOf([.. body.Take(length < 0 ? body.Count : length)])
            : target;
    }

    [GeneratedRegex("^([0-9]+)([smh])$")]
    private static partial Regex Time();

    [GeneratedRegex("^(?<what>get|post|begin|pairs|params|stdin|abort|ask|values|type|byte)(?<number>-?[0-9]+)?"
        + @"(:(?<id>[0-9]+))?(?<path>/[a-z-]*)?(?<last>\.last)?(<(?<to>[0-9]+)|>(?<from>[0-9]+))?\*?$")]
    private static partial Regex Sent();

    [GeneratedRegex("^((?<id>[0-9]+):)?(?<what>end|[0-9]{3})(=(?<status>[0-9]))?$")]
    private static partial Regex Answer();
}
