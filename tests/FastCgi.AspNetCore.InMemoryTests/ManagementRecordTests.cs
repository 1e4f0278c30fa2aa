namespace FastCgi.AspNetCore.InMemoryTests;

public class ManagementRecordTests
{
    /// <summary>Only the names that are known and asked for, each once, with the truth.</summary>
    [Theory]
    [Contract("G2")]
    [InlineData(20, "FCGI_MAX_CONNS,FCGI_MAX_REQS,FCGI_MPXS_CONNS",
        "FCGI_MAX_CONNS=50 FCGI_MAX_REQS=20 FCGI_MPXS_CONNS=1")]
    [InlineData(1, "FCGI_MAX_CONNS,FCGI_MAX_REQS,FCGI_MPXS_CONNS",
        "FCGI_MAX_CONNS=50 FCGI_MAX_REQS=1 FCGI_MPXS_CONNS=0")]
    [InlineData(20, "", "")]
    [InlineData(20, "FCGI_UNKNOWN", "")]
    [InlineData(20, "FCGI_MAX_REQS,FCGI_OTHER,FCGI_MAX_REQS", "FCGI_MAX_REQS=7")]
    [InlineData(20, "fcgi_max_reqs", "")]
    public async Task GET_VALUES_Names_ValuesOfTheKnownOnesOnce(int perConnection, string names, string expected)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello, options =>
        {
            options.Limits.MaxConcurrentConnections = 50;
            options.Limits.MaxRequestsPerConnection = perConnection;
            if (names.Contains("OTHER"))
                options.Limits.MaxConcurrentRequests = 7;
        });
        var pairs = names.Split(',', StringSplitOptions.RemoveEmptyEntries).Select(static name => (name, "")).ToArray();

        frontEnd.Send(RecordBytes.Record(RecordBytes.GetValues, 0, RecordBytes.Pairs(pairs)));

        Assert.Equal(expected, await ReadResultAsync(frontEnd));
    }

    /// <summary>The answer never exceeds what the descriptor limit allows; prlimit(1) may change the limit.</summary>
    [Theory]
    [InlineData(null, 854, 1_708)]
    [InlineData(1_000L, 854, 1_000)]
    [InlineData(50L, 50, 50)]
    public async Task GET_VALUES_Connections_AreThoseThatTheDescriptorsAllow(long? limit, int count, int raised)
    {
        await using var server = await TestServer.StartAsync(
            Apps.Hello, options => options.Limits.MaxConcurrentConnections = limit);
        foreach (var (descriptors, expected) in new[] { (1_024, count), (2_049, raised) })
        {
            server.GetMaxDescriptors = () => descriptors;
            var frontEnd = server.Connect();

            frontEnd.Send(RecordBytes.Record(RecordBytes.GetValues, 0, RecordBytes.Pairs(("FCGI_MAX_CONNS", ""))));

            Assert.Equal($"FCGI_MAX_CONNS={expected}", await ReadResultAsync(frontEnd));
        }
    }

    [Fact]
    public async Task GET_VALUES_AtEverySplitPoint_SameResult()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.Hello, static options => options.Limits.MaxRequestsPerConnection = 9);
        var record = RecordBytes.Record(
            RecordBytes.GetValues, 0, RecordBytes.Pairs(("FCGI_MAX_REQS", ""), ("FCGI_MPXS_CONNS", "")), padding: 3);

        for (var cut = 1; cut < record.Length; cut++)
        {
            frontEnd.Send(record[..cut]);
            frontEnd.Send(record[cut..]);
            Assert.Equal("FCGI_MAX_REQS=9 FCGI_MPXS_CONNS=1", await ReadResultAsync(frontEnd));
        }
    }

    [Fact]
    public async Task GET_VALUES_DuringRequest_AnsweredAtOnce()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(Apps.HelloAfter(go.Task));

        frontEnd.Send(RecordBytes.Get());
        frontEnd.Send(RecordBytes.Record(RecordBytes.GetValues, 0, RecordBytes.Pairs(("FCGI_MPXS_CONNS", ""))));
        Assert.Equal("FCGI_MPXS_CONNS=1", await ReadResultAsync(frontEnd));
        go.SetResult();

        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task GET_VALUES_Malformed_ConnectionReset()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        frontEnd.Send(
            RecordBytes.Record(RecordBytes.GetValues, 0, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]));

        Assert.True(frontEnd.Transport.IsReset);
    }

    [Theory, Values((byte)12, (byte)99, (byte)255, (byte)0)]
    public async Task UNKNOWN_TYPE_ForManagementRecord_OneAnswer(byte type)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        frontEnd.SendByteByByte(RecordBytes.Record(type, 0, new byte[100], padding: 4));

        var record = Assert.Single(frontEnd.ReadAvailable());
        Assert.Equal(RecordBytes.UnknownType, record.Type);
        Assert.Equal(0, record.Id);
        Assert.Equal([type, 0, 0, 0, 0, 0, 0, 0], record.Content);
        Assert.Equal("Hello", (await frontEnd.AskAsync()).Text);
    }

    private static async Task<string> ReadResultAsync(FrontEnd frontEnd)
    {
        var record = await frontEnd.ReadRecordAsync();
        Assert.Equal(RecordBytes.GetValuesResult, record.Type);
        Assert.Equal(0, record.Id);
        var pairs = new List<string>();
        for (var i = 0; i < record.Content.Length;)
        {
            int nameLength = record.Content[i++], valueLength = record.Content[i++];
            Assert.InRange(nameLength, 0, 127);
            pairs.Add(Encoding.ASCII.GetString(record.Content, i, nameLength)
                    + "=" + Encoding.ASCII.GetString(record.Content, i + nameLength, valueLength));
            i += nameLength + valueLength;
        }

        return string.Join(' ', pairs);
    }
}
