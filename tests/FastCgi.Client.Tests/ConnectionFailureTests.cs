namespace FastCgi.Client.Tests;

/// <summary>Connections that fail, or close too early.</summary>
public sealed class ConnectionFailureTests : IDisposable
{
    private readonly ScriptedApplication _application = new();

    [Fact]
    public async Task Address_NothingListens_ReportedWithCause()
    {
        using var missing = new FastCgiClient("unix:/nonexistent/app.sock");
        var exception = await Assert.ThrowsAnyAsync<SocketException>(() => missing.SendAsync(Requests.Create()));
        Assert.Equal("fastcgi://unix:/nonexistent/app.sock: no such socket.", exception.Message);

        using var folder = new ScratchFolder();
        using var silent = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        silent.Bind(new UnixDomainSocketEndPoint(folder.GetPath("app.sock")));
        using var refused = new FastCgiClient(folder.GetPath("app.sock"));
        exception = await Assert.ThrowsAnyAsync<SocketException>(() => refused.SendAsync(Requests.Create()));
        Assert.Equal(
            $"fastcgi://unix:{folder.Path}/app.sock refused the connection: no process is listening.",
            exception.Message);
    }

    [RootFact]
    [System.Runtime.Versioning.SupportedOSPlatform("linux")]
    public void Address_WithoutPermission_IsNamedWithTheCause()
    {
        using var client = new FastCgiClient(_application.Address);
        File.SetUnixFileMode(_application.Address["unix:".Length..], UnixFileMode.UserRead | UnixFileMode.UserWrite);
        Sandbox.RunAsOrdinaryUser(() =>
        {
            var exception = Assert.ThrowsAny<SocketException>(
                () => client.SendAsync(Requests.Create()).GetAwaiter().GetResult());
            Assert.StartsWith("Permission denied: ", exception.Message);
            Assert.Contains(_application.Address, exception.Message);
        });
    }

    /// <summary>A Unix socket refuses a connection immediately; over TCP, the system waits.</summary>
    [Fact]
    public async Task Connect_WhileTheQueueIsFull_Waits()
    {
        using var folder = new ScratchFolder();
        using var listener = TestSockets.ListenUnix(folder.GetPath("app.sock"), backlog: 0);
        using var client = new FastCgiClient("unix:" + folder.GetPath("app.sock"));
        var answers = new[] { client.GetAsync(), client.GetAsync(), client.GetAsync() };
        for (var i = 0; i < answers.Length; i++)
        {
            var connection = new ScriptedConnection(await listener.AcceptAsync().WaitAsync(Waiting.Patience));
            await connection.AnswerAsync("A: b\n\nhello");
        }

        Assert.All(await Task.WhenAll(answers), static answer => Assert.Equal("hello", answer));
    }

    [Fact]
    public async Task GetValues_EachVariable_HasTheAnsweredValue()
    {
        using var client = new FastCgiClient(_application.Address);
        var values = client.GetValuesAsync(["FCGI_MAX_CONNS", "OTHER"]);
        var connection = await _application.AcceptAsync();
        var question = await connection.ReadRecordAsync();
        Assert.Equal((GetValues, 0), (question!.Type, question.Id));
        Assert.Equal(Pairs(("FCGI_MAX_CONNS", ""), ("OTHER", "")), question.Content);
        Assert.Equal((GetValues, 0), ((await connection.ReadRecordAsync())!.Type, question.Id));
        await connection.SendAsync(Record(GetValuesResult, 0, Pairs(("FCGI_MAX_CONNS", "7"))));

        Assert.Equal([new("FCGI_MAX_CONNS", "7")], await values.Within("the values"));
        Assert.Null(await connection.ReadRecordAsync());
    }

    /// <summary>After a request for values, an empty result is the answer, not a close notice.</summary>
    [Theory]
    [InlineData(UnknownType, 8)]
    [InlineData(GetValuesResult, 0)]
    public async Task GetValues_NotUnderstood_AreNone(byte type, int length)
    {
        using var client = new FastCgiClient(_application.Address);
        var values = client.GetValuesAsync(["FCGI_MAX_CONNS"]);
        var connection = await _application.AcceptAsync();
        await connection.ReadRecordAsync();
        await connection.SendAsync(Record(type, 0, new byte[length]));

        Assert.Empty(await values.Within("the values"));
    }

    [Fact]
    public async Task Dispose_OfTheClient_FailsOpenRequests()
    {
        var client = new FastCgiClient(_application.Address, new FastCgiClientOptions { MaxConnections = 1 });
        var answer = client.SendAsync(Requests.Create());
        var connection = await _application.AcceptRequestAsync();
        var waiting = client.SendAsync(Requests.Create());
        client.Dispose();

        Assert.Equal(FastCgiProtocolError.ConnectionClosed, (await answer.FailAsync()).Error);
        await Assert.ThrowsAsync<ObjectDisposedException>(() => waiting.Within("the failure"));
        await Assert.ThrowsAsync<ObjectDisposedException>(() => client.SendAsync(Requests.Create()));
    }

    [Fact]
    public async Task Dispose_WhileValuesAreAskedFor_FailsAndLeavesNoConnection()
    {
        var client = new FastCgiClient(_application.Address);
        var values = client.GetValuesAsync(["FCGI_MAX_CONNS"]);
        var connection = await _application.AcceptAsync();
        Assert.NotNull(await connection.ReadRecordAsync());
        Assert.NotNull(await connection.ReadRecordAsync());

        client.Dispose();

        Assert.Equal(FastCgiProtocolError.ConnectionClosed, (await values.FailAsync()).Error);
        Assert.Null(await connection.ReadRecordAsync());
        await Assert.ThrowsAsync<ObjectDisposedException>(() => client.GetValuesAsync(["FCGI_MAX_CONNS"]));
        Assert.True(_application.HasNoOther());
    }

    /// <summary>A full backlog simulates a machine that drops connection attempts.</summary>
    [Theory]
    [InlineData("dispose", typeof(ObjectDisposedException))]
    [InlineData("cancel", typeof(OperationCanceledException))]
    [InlineData("time", typeof(SocketException))]
    public async Task Connect_TakesTooLong_FailsWithReason(string how, Type type)
    {
        using var listener = TestSockets.ListenTcp(backlog: 0);
        using var full = TestSockets.Connect(listener);
        var clock = new FakeClock();
        var options = new FastCgiClientOptions
        {
            MaxConnections = 1,
            ConnectTimeout = how == "time" ? TimeSpan.FromSeconds(5) : Timeout.InfiniteTimeSpan,
            TimeProvider = clock,
        };
        using var client = new FastCgiClient(listener.LocalEndPoint!.ToString()!, options);
        using var cancellation = new CancellationTokenSource();
        var sending = client.SendAsync(Requests.Create(), cancellation.Token);
        var waiting = client.SendAsync(Requests.Create(), CancellationToken.None);
        Assert.False(sending.IsCompleted);

        if (how == "dispose")
            client.Dispose();
        else if (how == "cancel")
            await cancellation.CancelAsync();
        else
            clock.Advance(TimeSpan.FromSeconds(5));

        var exception = await Assert.ThrowsAsync(type, () => sending.Within("the failure"));
        if (exception is OperationCanceledException canceled)
            Assert.Equal(cancellation.Token, canceled.CancellationToken);
        client.Dispose();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => waiting.Within("the end"));
    }

    /// <summary>The source of a body throws what a lost connection would throw.</summary>
    [Theory, Values(true, false)]
    public async Task BodySource_FailsLikeASocket_FailsTheRequestOnly(bool isSocketException)
    {
        using var client = new FastCgiClient(_application.Address, new FastCgiClientOptions { MaxConnections = 1 });
        Exception failure = isSocketException ? new SocketException(32) : new ObjectDisposedException("the body");

        var sending = client.SendAsync(Requests.Create("POST", body: new FailingStream(failure)));

        Assert.Same(failure, await Xunit.Record.ExceptionAsync(() => sending.Within("the failure")));
        Assert.NotNull(await (await _application.AcceptAsync()).ReadRecordAsync());
        var next = client.GetAsync();
        var connection = await _application.AnswerAsync("A: b\n\nnext");
        Assert.Equal("next", await next);
    }

    public void Dispose() => _application.Dispose();

    private sealed class FailingStream(Exception failure) : MemoryStream
    {
        public override Task CopyToAsync(Stream destination, int bufferSize, CancellationToken cancellationToken)
            => Task.FromException(failure);
    }
}
