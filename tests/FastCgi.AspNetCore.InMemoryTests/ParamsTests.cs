namespace FastCgi.AspNetCore.InMemoryTests;

public class ParamsTests
{
    [Fact]
    public async Task PARAMS_CutInRecordsAtEveryOffset_SameRequest()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Target);
        var pairs = RecordBytes.Pairs(RecordBytes.RequestParams("GET", "/a/b?c=d", ("HTTP_COOKIE", new string('x', 200))));

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
            frontEnd.Send(RecordBytes.Begin(), RecordBytes.Record(RecordBytes.Params, 1, pairs.AsSpan(..^missing)), RecordBytes.Record(RecordBytes.Params, 1));
            Assert.Equal(400, (await frontEnd.ReadResponseAsync()).Status);
        }
    }

    [Theory]
    [Trait("Contract", "T19")]
    [InlineData(0x7fff_ffff, 0x7fff_ffff)]
    [InlineData(0x7fff_ffff, 0)]
    [InlineData(0, 0x7fff_ffff)]
    [InlineData(0x7fff_fffe, 3)]
    [InlineData(0x7fff_ffff, 1)]
    [InlineData(1_000, 1_000)]
    public async Task PARAMS_LengthsBeyondStream_400AndNoAllocation(int nameLength, int valueLength)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        byte[] pair = [.. RecordBytes.Length(nameLength, isLong: true), .. RecordBytes.Length(valueLength, isLong: true), .. "abc"u8];
        var before = GC.GetAllocatedBytesForCurrentThread();

        frontEnd.Send(
            RecordBytes.Begin(),
            RecordBytes.Record(RecordBytes.Params, 1, [.. RecordBytes.Pairs(RecordBytes.RequestParams()), .. pair]),
            RecordBytes.Record(RecordBytes.Params, 1));

        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 1_000_000);
        Assert.Equal(400, (await frontEnd.ReadResponseAsync()).Status);
    }

    [Fact]
    public async Task PARAMS_Empty_400ForMissingMethod()
    {
        var response = await TestServer.AskAsync(Apps.Hello, RecordBytes.Begin(), RecordBytes.Record(RecordBytes.Params, 1));

        Assert.Equal(400, response.Status);
        Assert.Contains("REQUEST_METHOD", response.Text, StringComparison.Ordinal);
    }

    [Theory, Values("", "GE T", "G\nET", "GÉT")]
    public async Task PARAMS_BadMethod_400(string method)
    {
        var response = await TestServer.AskAsync(Apps.Hello, RecordBytes.Get(method: method));

        Assert.Equal(400, response.Status);
    }

    [Theory, Values("-2", "+5", "0x10", "5 ", "5a", "9223372036854775808")]
    public async Task PARAMS_BadContentLength_400(string value)
    {
        var response = await TestServer.AskAsync(Apps.Hello, RecordBytes.Get(more: ("CONTENT_LENGTH", value)));

        Assert.Equal(400, response.Status);
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
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello, static options => options.Limits.MaxRequestParametersTotalSize = Limit);
        // The length of the long value takes four bytes.
        var rest = Limit - RecordBytes.Pairs([.. RecordBytes.RequestParams(), ("HTTP_X", new string('x', 200))]).Length;
        var pairs = RecordBytes.Pairs([.. RecordBytes.RequestParams(), ("HTTP_X", new string('x', 200 + rest + excess))]);
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
    [Trait("Contract", "T19")]
    [InlineData(15, 200)]
    [InlineData(16, 200)]
    [InlineData(17, 431)]
    public async Task PARAMS_CountAtLimit_Decides(int count, int status)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello, static options => options.Limits.MaxRequestParameterCount = 16);
        var pairs = Enumerable.Range(0, count - 1).Select(static i => ($"HTTP_X_{i}", "v")).Append(("REQUEST_METHOD", "GET")).ToArray();

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

    [Fact]
    public async Task PARAMS_UnknownId_Ignored()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        frontEnd.Send(RecordBytes.ParamsStream(3, RecordBytes.RequestParams()), RecordBytes.Record(RecordBytes.Stdin, 3), RecordBytes.Get());

        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
        Assert.Empty(frontEnd.ReadAvailable());
    }

    [Theory]
    [Trait("Contract", "H10")]
    [Values("a\rb", "a\nb", "a\0b")]
    public async Task PARAMS_HeaderWithLineBreakOrNul_400(string value)
    {
        var response = await TestServer.AskAsync(Apps.Hello, RecordBytes.Get(more: ("HTTP_X_BAD", value)));

        Assert.Equal(400, response.Status);
    }

    [Fact]
    public async Task PARAMS_RepeatedHeadersAndCookies_JoinedRight()
    {
        await using var frontEnd = await TestServer.ConnectAsync(static context => context.Response.WriteAsync(
            $"{context.Request.Headers["X-Twice"].Count}|{context.Request.Headers.Cookie}|{context.Request.Cookies["b"]}|{context.Request.Headers["Proxy"].Count}"));

        frontEnd.Send(RecordBytes.Get(more: [("HTTP_X_TWICE", "1"), ("HTTP_COOKIE", "a=1"), ("HTTP_X_TWICE", "2"), ("HTTP_COOKIE", "b=2"), ("HTTP_PROXY", "http://evil")]));

        Assert.Equal("2|a=1; b=2|2|0", (await frontEnd.ReadResponseAsync()).Text);
    }
}
