namespace FastCgi.Client.Tests;

/// <summary>Opening, keeping and closing connections, and retries.</summary>
public sealed class ConnectionTests : IDisposable
{
    private readonly ScriptedApplication _application = new();

    [Fact]
    public async Task Connection_IsKeptForTheNextRequest()
    {
        using var client = CreateKeeping();
        var connection = await ServeAsync(client, "first", null);
        Assert.Same(connection, await ServeAsync(client, "second", connection));
        Assert.True(_application.HasNoOther());
    }

    [Fact]
    public async Task Connection_ByDefault_IsClosedAfterTheAnswer()
    {
        using var client = new FastCgiClient(_application.Address);

        Assert.Null(await (await ServeAsync(client, "hello", null, keeps: false)).ReadRecordAsync());
    }

    [Fact]
    public async Task PooledConnectionLifetime_Over_TakesNoFurtherRequest()
    {
        var clock = new FakeClock();
        using var client = CreateKeeping(options =>
        {
            options.MaxConnections = 1;
            options.IdleTimeout = Timeout.InfiniteTimeSpan;
            options.PooledConnectionLifetime = TimeSpan.FromSeconds(10);
            options.TimeProvider = clock;
        });
        var connection = await ServeAsync(client, "first", null);
        clock.Advance(TimeSpan.FromSeconds(6));
        var answer = client.GetAsync();
        await connection.ReadRequestAsync();
        clock.Advance(TimeSpan.FromSeconds(6));
        await connection.SendAsync(ScriptedConnection.Answer("A: b\n\nsecond"));

        Assert.Equal("second", await answer);
        Assert.Null(await connection.ReadRecordAsync());
        await ServeAsync(client, "third", null);
    }

    [Fact]
    public async Task IdleTimeout_ClosesTheConnection()
    {
        var clock = new FakeClock();
        using var client = CreateKeeping(
            options => (options.IdleTimeout, options.TimeProvider) = (TimeSpan.FromSeconds(10), clock));
        var connection = await ServeAsync(client, "hello", null);
        // A second request proves that the receiving loop has released the connection.
        await ServeAsync(client, "again", connection);
        var closed = connection.ReadRecordAsync();
        await Waiting.UntilAsync(() =>
        {
            clock.Advance(TimeSpan.FromSeconds(11));
            return closed.IsCompleted;
        }, "the close");

        Assert.Null(await closed);
        await ServeAsync(client, "new", null);
    }

    [Fact]
    public async Task MaxConnections_Reached_WaitsForOne()
    {
        using var client = CreateKeeping(static options => options.MaxConnections = 1);
        var first = client.GetAsync();
        var second = client.GetAsync();
        var connection = await _application.AnswerAsync("A: b\n\none");
        await connection.AnswerAsync("A: b\n\ntwo");

        Assert.Equal(["one", "two"], (await Task.WhenAll(first, second).Within("both")).Order());
        Assert.True(_application.HasNoOther());
    }

    [Fact]
    public async Task MaxConnections_OnlyConnectionIsLost_OpensAnother()
    {
        using var client = new FastCgiClient(_application.Address, new FastCgiClientOptions { MaxConnections = 1 });
        var first = client.SendAsync(Requests.Create("POST"));
        var connection = await _application.AcceptRequestAsync();
        var second = client.GetAsync();
        connection.Dispose();
        await first.FailAsync();

        await _application.AnswerAsync("A: b\n\nhello");
        Assert.Equal("hello", await second.Within("the answer"));
    }

    [Fact]
    public async Task MaxConnections_CanceledWait_TakesNoSlot()
    {
        using var client = CreateKeeping(static options => options.MaxConnections = 1);
        var first = client.GetAsync();
        var connection = await _application.AcceptRequestAsync();
        using var cancellation = new CancellationTokenSource();
        var waiting = client.SendAsync(Requests.Create(), cancellation.Token);
        await cancellation.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => waiting.Within("the cancellation"));

        await connection.SendAsync(ScriptedConnection.Answer("A: b\n\nhello"));
        await first;
        await ServeAsync(client, "again", connection);
    }

    [Fact]
    public async Task Cancellation_ClosesTheConnection()
    {
        using var client = new FastCgiClient(_application.Address);
        using var cancellation = new CancellationTokenSource();
        var answer = client.SendAsync(Requests.Create(), cancellation.Token);
        var connection = await _application.AcceptRequestAsync();
        await cancellation.CancelAsync();

        var exception = await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => answer.Within("the cancellation"));
        Assert.Equal(cancellation.Token, exception.CancellationToken);
        Assert.Null(await connection.ReadRecordAsync());
    }

    [Fact]
    public async Task Dispose_OfAnUnfinishedAnswer_ClosesTheConnection()
    {
        using var client = new FastCgiClient(_application.Address);
        var answer = client.SendAsync(Requests.Create());
        var connection = await _application.AcceptRequestAsync();
        await connection.SendAsync(Record(Stdout, 1, "A: b\n\nhello"u8));
        var response = await answer;
        response.Dispose();

        Assert.Null(await connection.ReadRecordAsync());
        await Assert.ThrowsAsync<ObjectDisposedException>(() => response.Completion);
        await Assert.ThrowsAsync<ObjectDisposedException>(
            async () => await response.Body.ReadExactlyAsync(new byte[1]));
    }

    [Fact]
    public async Task Dispose_CompletedResponse_DoesNotAffectTheNextRequest()
    {
        using var client = CreateKeeping();
        var first = client.SendAsync(Requests.Create());
        var connection = await _application.AnswerAsync("A: b\n\none");
        var response = await first;
        await response.Completion.Within("the end");
        var second = client.GetAsync();
        await connection.ReadRequestAsync();
        response.Dispose();
        await connection.SendAsync(ScriptedConnection.Answer("A: b\n\ntwo"));

        Assert.Equal("two", await second);
    }

    [Fact]
    public async Task Answer_BeforeTheBodyIsSent_LeavesTheConnection()
    {
        var pipe = new System.IO.Pipelines.Pipe();
        using var client = new FastCgiClient(
            _application.Address, new FastCgiClientOptions { StreamsBodiesOfUnknownLength = true });
        var answer = client.SendAsync(Requests.Create("POST", body: pipe.Reader.AsStream()));
        var connection = await _application.AcceptAsync();
        await connection.SendAsync(ScriptedConnection.Answer("Status: 413 Too Large\n\nno"));

        using var response = await answer.Within("the answer");
        Assert.Equal((413, "no"), (response.StatusCode, await response.ReadTextAsync()));
        while (await connection.ReadRecordAsync() is { } record)
            Assert.False(record is { Type: Stdin, Content.Length: 0 });
        await ServeAsync(client, "new", null);
    }

    /// <summary>Sent again only if that does no harm, and if all of the body is still there.</summary>
    [Theory]
    [InlineData("GET", "", true)]
    [InlineData("HEAD", "", true)]
    [InlineData("DELETE", "", true)]
    [InlineData("PUT", "body", true)]
    [InlineData("PUT", "body that is consumed", false)]
    [InlineData("PUT", "body that is closed", false)]
    [InlineData("GET", "answered in part", false)]
    [InlineData("POST", "", false)]
    [InlineData("PATCH", "", false)]
    [InlineData("POST", "allowed", true)]
    public async Task KeptConnection_Closed_RequestIsTriedAgainIfThatIsSafe(string method, string what, bool isTried)
    {
        using var client = CreateKeeping(options =>
        {
            options.RetriesUnsafeRequests = what == "allowed";
            options.StreamsBodiesOfUnknownLength = true;
        });
        using var body = what switch
        {
            "body that is consumed" => new OneWayStream("body"u8.ToArray()),
            "body" or "body that is closed" => new MemoryStream("body"u8.ToArray()),
            _ => null,
        };
        var kept = await ServeAsync(client, "hello", null);
        var answer = client.SendAsync(Requests.Create(method, body: body));
        await kept.ReadRequestAsync();
        if (what == "body that is closed")
            body!.Dispose();
        if (what == "answered in part")
            await kept.SendAsync(Record(Stdout, 1, "A"u8));
        kept.Dispose();

        if (isTried)
        {
            var connection = await _application.AcceptAsync();
            var records = await connection.ReadRequestAsync();
            Assert.Equal(
                body is null ? [] : "body"u8.ToArray(),
                records.Where(static record => record.Type == Stdin).SelectMany(static record => record.Content));
            await connection.SendAsync(ScriptedConnection.Answer("A: b\n\nagain"));
            (await answer.Within("the answer")).Dispose();
        }
        else
        {
            Assert.Equal(FastCgiProtocolError.ConnectionClosed, (await answer.FailAsync()).Error);
        }

        Assert.True(_application.HasNoOther());
    }

    [Fact]
    public async Task KeptConnection_UnexpectedData_IsClosed()
    {
        using var client = CreateKeeping();
        var kept = await ServeAsync(client, "hello", null);
        await kept.SendAsync(Record(Stdout, 1, "A: b\n\nspoilt"u8));
        Assert.Null(await kept.ReadRecordAsync());

        await ServeAsync(client, "new", null);
    }

    public void Dispose() => _application.Dispose();

    private FastCgiClient CreateKeeping(Action<FastCgiClientOptions>? configure = null)
    {
        var options = new FastCgiClientOptions { KeepConnections = true };
        configure?.Invoke(options);
        return new FastCgiClient(_application.Address, options);
    }

    /// <summary>Serves a request on the given connection, or on the next one.</summary>
    private async Task<ScriptedConnection> ServeAsync(
        FastCgiClient client, string text, ScriptedConnection? connection, bool? keeps = null)
    {
        var answer = client.GetAsync();
        connection ??= await _application.AcceptAsync();
        var flags = (await connection.ReadRequestAsync())[0].Content[2];
        Assert.Equal(keeps ?? flags == 1, flags == 1);
        await connection.SendAsync(ScriptedConnection.Answer($"A: b\r\n\r\n{text}"));
        Assert.Equal(text, await answer);
        return connection;
    }
}
