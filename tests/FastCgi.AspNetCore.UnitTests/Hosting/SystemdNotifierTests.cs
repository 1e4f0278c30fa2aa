namespace FastCgi.AspNetCore.UnitTests.Hosting;

/// <summary>The messages to systemd, over a socket such as its own.</summary>
public sealed class SystemdNotifierTests : IDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly CollectedLogs _logs = new();
    private readonly Dictionary<string, string?> _environment = [];
    private readonly Socket _systemd = new(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);

    [Theory]
    [InlineData(null)]
    [InlineData("")]
    [InlineData("relative")]
    public void Create_WithoutSocket_None(string? path)
    {
        _environment["NOTIFY_SOCKET"] = path;

        Assert.Null(Create());
    }

    [Theory, Values(false, true)]
    public void ReadyAndStopping_AreSent(bool isAbstract)
    {
        Listen(isAbstract);
        using var notifier = Create()!;

        notifier.Ready(2, CancellationToken.None);
        Assert.Equal("READY=1\nSTATUS=Serving FastCGI on 2 endpoints.", Receive());

        notifier.Stopping();
        Assert.StartsWith("STOPPING=1\n", Receive());
        Assert.Equal(0, _systemd.Available);
    }

    [Theory]
    [InlineData(null)]
    [InlineData("")]
    [InlineData("own")]
    public void Ready_Watchdog_IsNotifiedAtOnceAndAgain(string? process)
    {
        Listen();
        _environment["WATCHDOG_USEC"] = "20000";
        _environment["WATCHDOG_PID"] = process == "own" ? Environment.ProcessId.ToString(
            CultureInfo.InvariantCulture) : process;
        using var notifier = Create()!;

        notifier.Ready(1, CancellationToken.None);

        Assert.StartsWith("READY=1\n", Receive());
        Assert.Equal("WATCHDOG=1", Receive());
        Assert.Equal("WATCHDOG=1", Receive());
    }

    /// <summary>As sd_watchdog_enabled(3) recommends: any later, and one late message kills the service.</summary>
    [Fact]
    public void Ready_Watchdog_IsNotifiedTwiceInItsTime()
    {
        Listen();
        _environment["WATCHDOG_USEC"] = "30000000";
        var time = new TimerPeriods();
        using var notifier = Create(time)!;

        notifier.Ready(1, CancellationToken.None);

        Assert.Equal([(TimeSpan.FromSeconds(15), TimeSpan.FromSeconds(15))], time.Timers);
    }

    [Theory]
    [InlineData("20000", "1")]
    [InlineData("0", null)]
    [InlineData("soon", null)]
    [InlineData("9223372036854775807", null)]
    public void Ready_WatchdogOfAnotherProcessOrWithoutTime_IsNotNotified(string time, string? process)
    {
        Listen();
        _environment["WATCHDOG_USEC"] = time;
        _environment["WATCHDOG_PID"] = process;
        var timers = new TimerPeriods();
        using var notifier = Create(timers)!;

        notifier.Ready(1, CancellationToken.None);

        Assert.StartsWith("READY=1\n", Receive());
        Assert.Empty(timers.Timers);
    }

    /// <summary>A service whose READY=1 is lost is killed after TimeoutStartSec.</summary>
    [Fact]
    public async Task Ready_QueueOfSystemdIsFull_WaitsForRoom()
    {
        Listen();
        FillQueue();

        using var notifier = Create()!;
        var id = Waiting.Signal<int>();
        var thread = new Thread(() =>
        {
            id.SetResult(ThreadClock.GetThreadId());
            notifier.Ready(1, CancellationToken.None);
        });
        thread.Start();
        using (var state = new ThreadStateFile(await id.Task.Within("the thread")))
            await Waiting.UntilAsync(() => state.IsSleeping == true || !thread.IsAlive, "the thread to wait");
        string message;
        do
            message = Receive();
        while (message == "STATUS=Booting");

        Assert.StartsWith("READY=1\n", message);
        thread.Join();
        Assert.Empty(_logs.All);
    }

    /// <summary>
    /// The stop, or a start that is canceled, does not wait ten seconds, as the start does, while listeners accept.
    /// </summary>
    [Theory, Values(false, true)]
    public async Task Stopping_QueueOfSystemdIsFull_IsGivenUpSoon(bool isStarting)
    {
        Listen();
        FillQueue();
        using var notifier = Create()!;
        var start = Stopwatch.GetTimestamp();

        if (isStarting)
            notifier.Ready(1, new CancellationToken(canceled: true));
        else
            notifier.Stopping();

        Assert.InRange(Stopwatch.GetElapsedTime(start), TimeSpan.Zero, TimeSpan.FromSeconds(9));
        await _logs.SingleAsync("NotifyFailed");
    }

    [Fact]
    public async Task Ready_LoopHasNotAnswered_SystemdIsNotNotified()
    {
        Listen();
        _environment["WATCHDOG_USEC"] = "30000000";
        var time = new TimerPeriods();
        var answers = new Queue<bool>([true, true, false, false, true]);
        using var notifier = Create(time, answers.Dequeue)!;
        notifier.Ready(1, CancellationToken.None);
        Assert.StartsWith("READY=1\n", Receive());
        Assert.Equal("WATCHDOG=1", Receive());

        time.Callback!(null);
        Assert.Equal("WATCHDOG=1", Receive());
        time.Callback(null);
        time.Callback(null);
        Assert.Equal(0, _systemd.Available);
        time.Callback(null);

        Assert.Equal("WATCHDOG=1", Receive());
        Assert.Equal(0, _systemd.Available);
        _logs.Expected.Add("LoopNotAnswering");
        await _logs.SingleAsync("LoopNotAnswering");
    }

    /// <summary>The start goes on: systemd is told nothing, which a message says.</summary>
    [Theory, Values(false, true)]
    public async Task Ready_WithoutAListenerOrWithALongPath_IsLoggedAndNoError(bool isLong)
    {
        _environment["NOTIFY_SOCKET"] = Path.Combine(_folder.Path, isLong ? new string('n', 108) : "notify");
        using var notifier = Create()!;

        notifier.Ready(1, CancellationToken.None);

        await _logs.SingleAsync("NotifyFailed");
    }

    public void Dispose()
    {
        _systemd.Dispose();
        _folder.Dispose();
    }

    private SystemdNotifier? Create(TimeProvider? time = null, Func<bool>? haveLoopsAnswered = null)
        => SystemdNotifier.Create(
            _environment.GetValueOrDefault,
            haveLoopsAnswered ?? (static () => true),
            _logs.CreateLogger(""),
            time ?? TimeProvider.System);

    private void Listen(bool isAbstract = false)
    {
        var path = isAbstract ? "@fastcgi-" + Guid.NewGuid() : Path.Combine(_folder.Path, "notify");
        _systemd.Bind(EndpointAddress.ToUnixEndPoint(path));
        _systemd.ReceiveTimeout = 30_000;
        _environment["NOTIFY_SOCKET"] = path;
    }

    private void FillQueue()
    {
        using var filler = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);
        filler.Blocking = false;
        filler.Connect(EndpointAddress.ToUnixEndPoint(_environment["NOTIFY_SOCKET"]!));
        while (Record.Exception(() => filler.Send("STATUS=Booting"u8)) is null)
        {
        }
    }

    private string Receive()
    {
        var buffer = new byte[1_000];
        return Encoding.UTF8.GetString(buffer, 0, _systemd.Receive(buffer));
    }

    private sealed class TimerPeriods : TimeProvider
    {
        public TimerCallback? Callback { get; private set; }

        public List<(TimeSpan DueTime, TimeSpan Period)> Timers { get; } = [];

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            Timers.Add((dueTime, period));
            Callback = callback;
            return base.CreateTimer(callback, state, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        }
    }
}
