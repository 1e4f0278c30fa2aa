namespace FastCgi.Client.Tests;

/// <summary>Requests as bytes, compared with the specification.</summary>
public sealed class RequestTests : IDisposable
{
    private readonly ScriptedApplication _application = new();
    private readonly FastCgiClient _client;

    public RequestTests() => _client = new FastCgiClient(_application.Address);

    [Fact]
    public async Task Get_IsBeginParamsAndAnEmptyStdin()
    {
        var request = new FastCgiRequestMessage
        {
            Parameters = { { "REQUEST_METHOD", "GET" }, { "", "" }, { "A", "b" }, { "A", "c" } },
        };
        var answer = _client.SendAsync(request);

        using var connection = await _application.AcceptAsync();
        var pairs = Pairs(("REQUEST_METHOD", "GET"), ("", ""), ("A", "b"), ("A", "c"));
        byte[] expected = [
            .. Begin(keepConnection: false),
            .. Record(Params, 1, pairs, padding: -pairs.Length & 7),
            .. Record(Params, 1),
            .. Record(Stdin, 1)];
        var sent = await connection.ReadAsync(expected.Length);
        // The content of the padding is arbitrary.
        var padding = expected.AsSpan().IndexOf((byte)0xEE);
        sent.AsSpan(padding, -pairs.Length & 7).Fill(0xEE);
        Assert.Equal(expected, sent);

        await connection.SendAsync(ScriptedConnection.Answer("A: b\r\n\r\nhello"));
        using var response = await answer;
        Assert.Equal("hello", await response.ReadTextAsync());
    }

    [Theory]
    [InlineData(127, 127)]
    [InlineData(128, 5)]
    [InlineData(5, 128)]
    [InlineData(200, 60_000)]
    public async Task Params_OfAnyLength_AreWhole(int nameLength, int valueLength)
    {
        var (name, value) = (new string('n', nameLength), new string('v', valueLength));
        var sent = await SendAsync(new FastCgiRequestMessage { Parameters = { { name, value } } });

        Assert.Equal(Pairs((name, value)), Join(sent, Params));
    }

    [Fact]
    public async Task Params_LongerThanARecord_AreSplitBetweenPairs()
    {
        var request = new FastCgiRequestMessage();
        var pairs = Enumerable.Range(0, 5).Select(static i => ($"N{i}", new string((char)('a' + i), 20_000))).Append(
            ("LARGE", new string('x', 150_000))).ToArray();
        foreach (var (name, value) in pairs)
            request.Parameters.Add(name, value);

        var records = (await SendAsync(request)).Where(static record => record.Type == Params).ToList();

        Assert.Equal(Pairs(pairs), records.SelectMany(static record => record.Content));
        Assert.Equal(Pairs(pairs[..3]), records[0].Content);
        Assert.Equal(Pairs(pairs[3..5]), records[1].Content);
        Assert.All(records, static record => Assert.True(record.Content.Length <= 65_535));
        Assert.Empty(records[^1].Content);
    }

    [Theory, Values(0, 1, 8, 65_535, 65_536, 1_000_001)]
    public async Task Body_OfAnyLength_IsWhole(int length)
    {
        var body = new byte[length];
        new Random(length).NextBytes(body);

        Assert.Equal(body, Join(await SendAsync(Requests.Create("POST", body: new MemoryStream(body))), Stdin));
    }

    [Theory, Values(0, 65_536, 65_537, 1_000_001)]
    public async Task Body_OfUnknownLength_IsBuffered(int length)
    {
        var body = new byte[length];
        new Random(length).NextBytes(body);
        var records = await SendAsync(Requests.Create("POST", body: new OneWayStream(body)));

        Assert.Equal(body, Join(records, Stdin));
        Assert.Contains($"CONTENT_LENGTH{length}", Encoding.ASCII.GetString(Join(records, Params)));
        Assert.Empty(Directory.GetFiles(Path.GetTempPath(), "fastcgi-body-*"));
    }

    [Fact]
    public async Task Authorizer_HasItsRole()
    {
        var records = await SendAsync(
            new FastCgiRequestMessage { Role = FastCgiRequestRole.Authorizer, Parameters = { { "A", "b" } } });

        Assert.Equal([0, 2, 0, 0, 0, 0, 0, 0], records[0].Content);
    }

    [Fact]
    public async Task Body_InPieces_IsSentAtOnceDuringTheResponse()
    {
        var pipe = new System.IO.Pipelines.Pipe();
        using var client = new FastCgiClient(
            _application.Address, new FastCgiClientOptions { StreamsBodiesOfUnknownLength = true });
        var answer = client.SendAsync(Requests.Create("POST", body: pipe.Reader.AsStream()));
        using var connection = await _application.AcceptAsync();
        await pipe.Writer.WriteAsync("first"u8.ToArray());
        ReceivedRecord? record;
        do
            record = await connection.ReadRecordAsync();
        while (record!.Type != Stdin);
        Assert.Equal("first"u8.ToArray(), record.Content);

        await connection.SendAsync(Record(Stdout, 1, "A: b\n\nanswer"u8));
        using var response = await answer.Within("the answer");
        var buffer = new byte[6];
        await response.Body.ReadExactlyAsync(buffer);
        Assert.Equal("answer"u8.ToArray(), buffer);

        await pipe.Writer.WriteAsync("second"u8.ToArray());
        Assert.Equal("second"u8.ToArray(), (await connection.ReadRecordAsync())!.Content);
        await pipe.Writer.CompleteAsync();
        Assert.Empty((await connection.ReadRecordAsync())!.Content);
        await connection.SendAsync([.. Record(Stdout, 1), .. ScriptedConnection.EndOfRequest()]);
        Assert.Equal("", await response.ReadTextAsync());
    }

    [Fact]
    public async Task Body_Fails_RequestFailsAndConnectionCloses()
    {
        var pipe = new System.IO.Pipelines.Pipe();
        await pipe.Writer.CompleteAsync(new InvalidDataException("The source is broken."));
        using var client = new FastCgiClient(
            _application.Address, new FastCgiClientOptions { StreamsBodiesOfUnknownLength = true });
        var answer = client.SendAsync(Requests.Create("POST", body: pipe.Reader.AsStream()));
        using var connection = await _application.AcceptAsync();

        await Assert.ThrowsAsync<InvalidDataException>(() => answer.Within("the failure"));
        while (await connection.ReadRecordAsync() is { } record)
            Assert.False(record is { Type: Stdin, Content.Length: 0 });
    }

    public void Dispose()
    {
        _client.Dispose();
        _application.Dispose();
    }

    private static byte[] Join(List<ReceivedRecord> records, byte type)
        => [.. records.Where(record => record.Type == type).SelectMany(static record => record.Content)];

    private async Task<List<ReceivedRecord>> SendAsync(FastCgiRequestMessage request)
    {
        var answer = _client.SendAsync(request);
        using var connection = await _application.AcceptAsync();
        var records = await connection.ReadRequestAsync();
        await connection.SendAsync(ScriptedConnection.Answer("A: b\r\n\r\n"));
        (await answer.Within("an answer")).Dispose();
        return records;
    }
}
