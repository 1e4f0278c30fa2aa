namespace FastCgi.AspNetCore.InMemoryTests.Faults;

/// <summary>
/// A transport that cuts, delays, and throttles at every byte. No part of a connection leaks, each request ends once,
/// and the peer has received the beginning of a response or all of it.
/// </summary>
public sealed class BrokenTransportTests
{
    private const int LargeLength = 150_000;

    private static readonly Dictionary<string, byte[]> s_exchanges = new()
    {
        ["GET"] = RecordBytes.Get(uri: "/target"),
        ["GET without KEEP_CONN"] = RecordBytes.Get(uri: "/target", keepConnection: false),
        ["POST read"] = RecordBytes.Post(1, "/hash", Apps.Pattern(300)),
        ["POST unread"] = RecordBytes.Post(1, "/target", Apps.Pattern(300)),
        ["three at once"] =
        [
            .. RecordBytes.Get(1, "/target"), .. RecordBytes.Begin(2), .. RecordBytes.Post(
                3, "/hash", Apps.Pattern(40)),
            .. RecordBytes.ParamsStream(
                2, RecordBytes.RequestParams("GET", "/target?2")), .. RecordBytes.Record(RecordBytes.Stdin, 2),
        ],
        ["ABORT"] = [.. RecordBytes.Get(1, "/wait"), .. RecordBytes.Abort(), .. RecordBytes.Get(2, "/target")],
        ["large answer"] = RecordBytes.Get(uri: "/large"),
        ["GET_VALUES"] = [.. RecordBytes.Record(RecordBytes.GetValues, 0, RecordBytes.Pairs((
            "FCGI_MPXS_CONNS", ""))), .. RecordBytes.Get(uri: "/target")],
    };

    public static TheoryData<string> Exchanges => [.. s_exchanges.Keys];

    [Theory, MemberData(nameof(Exchanges))]
    public async Task Input_CutAtEachByte_NothingIsLeft(string exchange)
    {
        await using var server = await TestServer.StartAsync(Run);
        var input = s_exchanges[exchange];
        for (var length = 0; length <= input.Length; length++)
        {
            var frontEnd = server.Connect();
            frontEnd.Send(input[..length]);
            frontEnd.Close();

            SentRecords.Read(frontEnd.Transport.Sent);
        }

        await AssertIdleAsync(server);
    }

    [Theory, MemberData(nameof(Exchanges))]
    public async Task Input_DelayedAtEachByte_IsAnsweredTheSame(string exchange)
    {
        await using var server = await TestServer.StartAsync(Run);
        var input = s_exchanges[exchange];
        var expected = await GetAnswersAsync(server, exchange, static (frontEnd, input) => frontEnd.Send(input));
        // In one receive, in two parts split at each byte, and byte by byte.
        for (var length = 1; length < input.Length; length += exchange == "large answer" ? 40 : 1)
        {
            var answers = await GetAnswersAsync(server, exchange, (frontEnd, input) =>
            {
                frontEnd.Send(input[..length]);
                frontEnd.Send(input[length..]);
            });
            Assert.Equal(expected, answers);
        }

        Assert.Equal(
            expected,
            await GetAnswersAsync(server, exchange, static (frontEnd, input) => frontEnd.SendByteByByte(input)));
        await AssertIdleAsync(server);
    }

    [Theory, MemberData(nameof(Exchanges))]
    public async Task Output_ThrottledAtEachByte_IsWholeOrItsBeginning(string exchange)
    {
        await using var server = await TestServer.StartAsync(Run);
        var input = s_exchanges[exchange];
        var expected = await GetAnswersAsync(server, exchange, static (frontEnd, input) => frontEnd.Send(input));
        // Of the large answer: the header, and around the ends of its records and blocks.
        var total = expected.Sum(static answer => answer.Length) + 200;
        var steps = total < 5_000 ? Enumerable.Range(0, total) : [
            .. Enumerable.Range(0, 60),
            .. Enumerable.Range(1, 9).SelectMany(static i => Enumerable.Range((i * 16_384) - 8, 16))];
        foreach (var length in steps)
        {
            var slow = await GetAnswersAsync(server, exchange, (frontEnd, input) =>
            {
                frontEnd.Transport.TakeOnly(length);
                frontEnd.Send(input);
                frontEnd.Transport.TakeRest();
            });
            Assert.Equal(expected, slow);

            var broken = server.Connect();
            broken.Transport.TakeOnly(length);
            broken.Send(input);
            broken.Transport.Lose();
            foreach (var (id, answer) in SentRecords.Read(broken.Transport.Sent))
                Assert.Contains(expected, text => text.StartsWith(
                    $"{id} {Encoding.Latin1.GetString([.. answer.Stdout])}", StringComparison.Ordinal));
        }

        await AssertIdleAsync(server);
    }

    private static Task Run(HttpContext context) => context.Request.Path.Value switch
    {
        "/hash" => HashAsync(context),
        "/wait" => Apps.UntilAborted(context),
        "/large" => context.Response.Body.WriteAsync(Apps.Pattern(LargeLength)).AsTask(),
        _ => Apps.Target(context),
    };

    /// <summary>Sets its length, which the server adds only if it is known at the first send.</summary>
    private static async Task HashAsync(HttpContext context)
    {
        var body = new MemoryStream();
        await context.Request.Body.CopyToAsync(body);
        var answer = Apps.Utf8(Apps.HashOf(body.ToArray()));
        context.Response.ContentLength = answer.Length;
        await context.Response.Body.WriteAsync(answer);
    }

    /// <summary>The complete answers of an exchange, each with its request id, in the order of the ids.</summary>
    private static async Task<List<string>> GetAnswersAsync(
        TestServer server, string exchange, Action<FrontEnd, byte[]> send)
    {
        var frontEnd = server.Connect();
        send(frontEnd, s_exchanges[exchange]);
        var count = exchange switch
        {
            "three at once" => 3,
            "ABORT" => 2,
            _ => 1,
        };
        await frontEnd.Transport.WaitUntilAsync(
            () => frontEnd.Transport.CountEnds().Values.Sum() == count, "the answers");
        if (exchange == "GET without KEEP_CONN")
            await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.IsClosed, "the end of the connection");
        frontEnd.Close();
        return [.. SentRecords.Read(frontEnd.Transport.Sent).OrderBy(static answer => answer.Key).Select(
            static answer => $"{answer.Key} {Encoding.Latin1.GetString([.. answer.Value.Stdout])}")];
    }

    private static async Task AssertIdleAsync(TestServer server)
    {
        Assert.Equal(0, server.Connections.Count);
        Assert.Equal(0, server.Connections.CountRequests());
        await server.AssertNothingIsRentedAsync();
        var frontEnd = server.Connect();
        Assert.Equal("GET /target", (await frontEnd.AskAsync(RecordBytes.Get(uri: "/target"))).Text);
        frontEnd.Close();
    }
}
