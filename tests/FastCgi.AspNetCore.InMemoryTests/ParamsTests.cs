namespace FastCgi.AspNetCore.InMemoryTests;

public class ParamsTests
{
    [Fact]
    public async Task PARAMS_CutInRecordsAtEveryOffset_SameRequest()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Target);
        var pairs = RecordBytes.Pairs(
            RecordBytes.RequestParams("GET", "/a/b?c=d", ("HTTP_COOKIE", new string('x', 200))));

        for (var cut = 1; cut < pairs.Length; cut++)
        {
            frontEnd.Send(
                RecordBytes.Begin(),
                RecordBytes.Record(RecordBytes.Params, 1, pairs.AsSpan(0, cut), padding: cut % 256),
                RecordBytes.Record(RecordBytes.Params, 1, pairs.AsSpan(cut)),
                RecordBytes.Record(RecordBytes.Params, 1, padding: 5));
            Assert.Equal("GET /a/b?c=d", (await frontEnd.ReadResponseAsync()).Text);
        }
    }

    [Fact]
    public async Task PARAMS_CutInsidePair_400()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        var pairs = RecordBytes.Pairs(RecordBytes.RequestParams());

        foreach (var missing in new[] { 1, 5, 8, 20 })
        {
            frontEnd.Send(
                RecordBytes.Begin(),
                RecordBytes.Record(RecordBytes.Params, 1, pairs.AsSpan(..^missing)),
                RecordBytes.Record(RecordBytes.Params, 1));
            Assert.Equal(400, (await frontEnd.ReadResponseAsync()).Status);
        }
    }

    [Theory]
    [InlineData(-1, 1, 200)]
    [InlineData(-1, 2, 200)]
    [InlineData(0, 1, 200)]
    [InlineData(0, 2, 200)]
    [InlineData(1, 1, 431)]
    [InlineData(1, 2, 431)]
    public async Task PARAMS_SizeAtLimit_Decides(int excess, int records, int status)
    {
        const int Limit = 1_000;
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.Hello, static options => options.Limits.MaxRequestParametersTotalSize = Limit);
        // The length of the long value takes four bytes.
        var rest = Limit - RecordBytes.Pairs([.. RecordBytes.RequestParams(), ("HTTP_X", new string('x', 200))]).Length;
        var pairs = RecordBytes.Pairs(
            [.. RecordBytes.RequestParams(), ("HTTP_X", new string('x', 200 + rest + excess))]);
        Assert.Equal(Limit + excess, pairs.Length);

        frontEnd.Send(
            RecordBytes.Begin(),
            records == 1 ? [] : RecordBytes.Record(RecordBytes.Params, 1, pairs.AsSpan(0, 500)),
            RecordBytes.Record(RecordBytes.Params, 1, pairs.AsSpan(records == 1 ? 0 : 500)),
            RecordBytes.Record(RecordBytes.Params, 1));

        Assert.Equal(status, (await frontEnd.ReadResponseAsync()).Status);
    }

    [Fact]
    public async Task PARAMS_WithoutEndBeyondLimit_MemoryBounded()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        var record = RecordBytes.Record(RecordBytes.Params, 1, new byte[65_535]);
        frontEnd.Send(RecordBytes.Begin());

        for (var i = 0; i < 200; i++)
            frontEnd.Send(record);

        Assert.InRange(frontEnd.Server.Context.Buffers.AllocatedBytes, 0, 4_000_000);
        frontEnd.Send(RecordBytes.Record(RecordBytes.Params, 1));
        Assert.Equal(431, (await frontEnd.ReadResponseAsync()).Status);
    }

    [Theory]
    [Contract("T19")]
    [InlineData(15, 200)]
    [InlineData(16, 200)]
    [InlineData(17, 431)]
    public async Task PARAMS_CountAtLimit_Decides(int count, int status)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.Hello, static options => options.Limits.MaxRequestParameterCount = 16);
        var pairs = Enumerable.Range(0, count - 1)
            .Select(static i => ($"HTTP_X_{i}", "v")).Append(("REQUEST_METHOD", "GET")).ToArray();

        Assert.Equal(status, (await frontEnd.AskAsync(RecordBytes.Begin(), RecordBytes.ParamsStream(1, pairs))).Status);
    }

    [Fact]
    public async Task PARAMS_AfterTheirEnd_Ignored()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(Apps.After(go.Task, Apps.Target));

        frontEnd.Send(RecordBytes.Get(uri: "/first"));
        frontEnd.Send(RecordBytes.ParamsStream(1, RecordBytes.RequestParams("POST", "/second")));
        go.SetResult();

        Assert.Equal("GET /first", (await frontEnd.ReadResponseAsync()).Text);
    }
}
