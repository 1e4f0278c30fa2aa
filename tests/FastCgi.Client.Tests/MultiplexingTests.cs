using FastCgi.AspNetCore.InMemoryTests;

namespace FastCgi.Client.Tests;

/// <summary>Requests that share a connection.</summary>
public sealed class MultiplexingTests : IDisposable
{
    private readonly ScriptedApplication _application = new();

    // It stands, so that a slow machine answers in time.
    private readonly FakeClock _clock = new();

    [Fact]
    public async Task Ask_AnsweredWithOne_SharesTheConnection()
    {
        using var client = CreateClient(FastCgiMultiplexing.Ask, maxConnections: 1);
        var connection = await ServeAndAnswerAsync(client, ("FCGI_MPXS_CONNS", "1"), ("FCGI_MAX_REQS", "50"));
        var first = client.GetAsync("/1");
        Assert.Equal(1, (await connection.ReadRequestAsync())[0].Id);
        var second = client.GetAsync("/2");
        Assert.Equal(2, (await connection.ReadRequestAsync())[0].Id);

        await connection.SendAsync(
        [
            .. Record(Stdout, 2, "A: b\n\ntw"u8), .. Record(Stdout, 1, "A: b\n\nfirst"u8), .. Record(Stdout, 2, "o"u8),
            .. ScriptedConnection.Answer("", 1)[8..], .. ScriptedConnection.EndOfRequest(2),
        ]);
        Assert.Equal(("first", "two"), (await first, await second));
        Assert.True(_application.HasNoOther());
    }

    [Fact]
    public async Task MaxRequests_OfTheApplication_IsObeyed()
    {
        using var client = CreateClient(FastCgiMultiplexing.Ask, maxConnections: 1);
        var connection = await ServeAndAnswerAsync(client, ("FCGI_MPXS_CONNS", "1"), ("FCGI_MAX_REQS", "2"));
        var answers = new[] { client.GetAsync("/1"), client.GetAsync("/2"), client.GetAsync("/3") };
        var a = await connection.ReadRequestAsync();
        var b = await connection.ReadRequestAsync();
        var third = connection.ReadRequestAsync();
        await Task.Delay(200);
        Assert.False(third.IsCompleted);

        await connection.SendAsync([.. ScriptedConnection.Answer("A: b\n\nx", a[0].Id), .. ScriptedConnection.Answer("A: b\n\nx", b[0].Id)]);
        await connection.SendAsync(ScriptedConnection.Answer("A: b\n\nx", (await third)[0].Id));
        Assert.Equal(["x", "x", "x"], await Task.WhenAll(answers));
    }

    [Fact]
    public async Task Cancellation_OfOneOfTwo_SendsAbort_AndTheOtherGoesOn()
    {
        using var client = CreateClient(FastCgiMultiplexing.Always);
        using var cancellation = new CancellationTokenSource();
        var first = client.SendAsync(Requests.Create(), cancellation.Token);
        var connection = await _application.AcceptAsync();
        await connection.ReadRequestAsync();
        var second = client.GetAsync();
        await connection.ReadRequestAsync();
        await cancellation.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => first);

        var abort = await connection.ReadRecordAsync();
        Assert.Equal((AbortRequest, 1, 0), (abort!.Type, abort.Id, abort.Content.Length));
        // What the aborted one still says is of no interest.
        await connection.SendAsync([.. Record(Stdout, 1, "A: b\n\nlate"u8), .. ScriptedConnection.EndOfRequest(1), .. ScriptedConnection.Answer("A: b\n\nsecond", 2)]);
        Assert.Equal("second", await second);

        var third = client.GetAsync();
        var records = await connection.ReadRequestAsync();
        Assert.Equal(3, records[0].Id);
        await connection.SendAsync(ScriptedConnection.Answer("A: b\n\nthird", 3));
        Assert.Equal("third", await third);
    }

    [Fact]
    public async Task Cancellation_WithoutAnEnd_ClosesTheConnectionBehindTheOthers()
    {
        using var client = CreateClient(FastCgiMultiplexing.Always);
        using var cancellation = new CancellationTokenSource();
        var first = client.SendAsync(Requests.Create(), cancellation.Token);
        var connection = await _application.AcceptAsync();
        await connection.ReadRequestAsync();
        var second = client.GetAsync();
        await connection.ReadRequestAsync();
        await cancellation.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => first);
        Assert.Equal(AbortRequest, (await connection.ReadRecordAsync())!.Type);
        await connection.SendAsync(ScriptedConnection.Answer("A: b\n\nsecond", 2));

        Assert.Equal("second", await second);
        Assert.Null(await connection.ReadRecordAsync());
    }

    [Fact]
    public async Task Refused_AsTheSecondOfAConnection_IsSentOnAnother()
    {
        using var client = CreateClient(FastCgiMultiplexing.Always);
        var first = client.GetAsync("/1");
        var connection = await _application.AcceptAsync();
        await connection.ReadRequestAsync();
        var second = client.SendAsync(Requests.Create("POST", "/2"));
        await connection.ReadRequestAsync();
        await connection.SendAsync(ScriptedConnection.EndOfRequest(2, protocolStatus: 1));
        var other = await _application.AcceptAsync();
        await other.ReadRequestAsync();
        await other.SendAsync(ScriptedConnection.Answer("A: b\n\ntwo"));
        using var response = await second.Within("the answer");
        await connection.SendAsync(ScriptedConnection.Answer("A: b\n\none"));

        Assert.Equal(("one", "two"), (await first, await response.ReadTextAsync()));
    }

    [Fact]
    public async Task Bodies_OfTwo_TakeTurns()
    {
        using var client = CreateClient(FastCgiMultiplexing.Always);
        var first = client.SendAsync(Requests.Create("POST", body: new MemoryStream(new byte[2_000_000])));
        var connection = await _application.AcceptAsync();
        Assert.Equal(BeginRequest, (await connection.ReadRecordAsync())!.Type);
        var second = client.SendAsync(Requests.Create("POST", body: new MemoryStream(new byte[10])));
        var ended = new List<int>();
        while (ended.Count < 2)
        {
            var record = await connection.ReadRecordAsync();
            if (record is { Type: Stdin, Content.Length: 0 })
                ended.Add(record.Id);
        }

        Assert.Equal([2, 1], ended);
        await connection.SendAsync([.. ScriptedConnection.Answer("A: b\n\nx", 1), .. ScriptedConnection.Answer("A: b\n\nx", 2)]);
        (await first.Within("the first")).Dispose();
        (await second.Within("the second")).Dispose();
    }

    public void Dispose() => _application.Dispose();

    /// <summary>Serves a request, and answers the question that follows it.</summary>
    private async Task<ScriptedConnection> ServeAndAnswerAsync(FastCgiClient client, params (string Name, string Value)[] values)
    {
        var answer = client.GetAsync();
        var connection = await _application.AcceptAsync();
        await connection.ReadRequestAsync();
        await connection.SendAsync(ScriptedConnection.Answer("A: b\n\nhello"));
        Assert.Equal("hello", await answer);
        var question = await connection.ReadRecordAsync();
        Assert.Equal(Pairs(("FCGI_MPXS_CONNS", ""), ("FCGI_MAX_REQS", "")), question!.Content);
        Assert.Empty((await connection.ReadRecordAsync())!.Content);
        await connection.SendAsync(Record(GetValuesResult, 0, Pairs(values)));
        return connection;
    }

    private FastCgiClient CreateClient(FastCgiMultiplexing multiplexing, int? maxConnections = null)
        => new(_application.Address, new FastCgiClientOptions { MaxConnections = maxConnections, MaxRequestsPerConnection = 10, Multiplexing = multiplexing, TimeProvider = _clock });
}
