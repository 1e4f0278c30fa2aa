namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>Failed accepts: their log messages.</summary>
public sealed class AcceptFailuresTests : IAsyncLifetime, IDisposable
{
    private readonly Socket _socket = TestSockets.ListenUnix();
    private TestServer _server = null!;
    private AcceptFailures _failures = null!;

    public async Task InitializeAsync()
    {
        _socket.Blocking = false;
        _server = await TestServer.StartAsync(Apps.Hello);
        _failures = new AcceptFailures(_socket.LocalEndPoint!, _server.Context);
    }

    public async Task DisposeAsync() => await _server.DisposeAsync();

    public void Dispose() => _socket.Dispose();

    [Theory]
    [InlineData("AcceptFailed", LogLevel.Debug, true)]
    [InlineData("ConnectionNotWatched", LogLevel.Warning, true)]
    [InlineData("ConnectionStartFailed", LogLevel.Error, false)]
    [InlineData("AcceptOutOfResources", LogLevel.Warning, true)]
    public async Task Failures_OfAKind_AreReportedOnceAMinuteWithTheirNumber(
        string eventName, LogLevel level, bool isCounted)
    {
        _server.Logs.Expected.Add(eventName);
        for (var i = 0; i < 3; i++)
            Fail(eventName);
        var first = await _server.Logs.SingleAsync(eventName);

        _server.Clock.Advance(TimeSpan.FromMinutes(1));
        Fail(eventName);
        await Waiting.UntilAsync(() => Messages(eventName).Count == 2, "the second message");

        Assert.Equal(level, first.Level);
        Assert.Contains(_socket.LocalEndPoint!.ToString()!, first.Message);
        if (isCounted)
        {
            Assert.Matches(@"(last such message: |\()1\b", first.Message);
            Assert.Matches(@"(last such message: |\()3\b", Messages(eventName)[1]);
        }
    }

    [Theory]
    [InlineData(Libc.ErrorTooManyOpenFiles, "LimitNOFILE=")]
    [InlineData(Libc.ErrorTooManyOpenFilesInSystem, "fs.file-max")]
    [InlineData(Libc.ErrorNoBuffers, "tcp_mem")]
    [InlineData(Libc.ErrorOutOfMemory, "MemoryMax=")]
    [InlineData(Libc.ErrorInvalid, "accept(2)")]
    public async Task OutOfResources_Warning_NamesTheLimit(int error, string advice)
    {
        _failures.OnFailed(error);

        var warning = await _server.Logs.SingleAsync("AcceptOutOfResources");
        Assert.Contains(Libc.GetMessage(error), warning.Message);
        Assert.Contains(advice, warning.Message);
    }

    /// <summary>Connections leave the last to threads. prlimit(1) may raise or lower the limit.</summary>
    [Fact]
    public void IsBeyondLimit_LimitChanges_IsThatOfNow()
    {
        (int, bool)[] limits = [(1_024, true), (1_026, false), (1_024, true), (256, true), (2_048, false)];
        foreach (var (limit, isBeyond) in limits)
        {
            _server.GetMaxDescriptors = () => limit;
            Assert.Equal(isBeyond, _failures.IsBeyondLimit(854));
        }

        Assert.Equal(3, _server.Context.Counters.RejectedConnections);
    }

    private List<string> Messages(string eventName)
        => [.. _server.Logs.Named(eventName).Select(static log => log.Message)];

    private void Fail(string eventName)
    {
        switch (eventName)
        {
            case "AcceptFailed":
                _failures.OnLost(new SocketException(Libc.ErrorConnectionAborted));
                break;
            case "ConnectionNotWatched":
                _failures.OnStartFailed(new IOException("on purpose"));
                break;
            case "ConnectionStartFailed":
                _failures.OnStartFailed(new InvalidOperationException("on purpose"));
                break;
            default:
                _failures.OnFailed(Libc.ErrorOutOfMemory);
                break;
        }
    }
}
