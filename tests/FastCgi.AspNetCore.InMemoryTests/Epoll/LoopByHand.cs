namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>
/// An epoll loop that the test runs on its own thread, turn by turn: real sockets and events, without waiting.
/// </summary>
internal static partial class LoopByHand
{
    private static readonly ConditionalWeakTable<EpollLoop, RequestScheduler> s_schedulers = [];
    private static readonly ConditionalWeakTable<EpollLoop, Worker> s_workers = [];

    public static EpollLoop Create(TestServer server)
    {
        var loop = new EpollLoop(server.Context.Log);
        s_schedulers.Add(loop, server.Scheduler);
        return loop;
    }

    /// <summary>Pending events have been handled.</summary>
    public static void Turn(this EpollLoop loop)
    {
        // Otherwise it would wait for an event that never comes.
        loop.Wake();
        Wait(loop, Timeout.Infinite);
        while (TryFinishEvents(loop, loop.Queue))
            loop.RunBatch();
    }

    public static void RunBatch(this EpollLoop loop)
    {
        Assert.True(s_schedulers.TryGetValue(loop, out var scheduler));
        var worker = s_workers.GetValue(loop, _ => scheduler.CreateWorker());
        worker.Permit = Permit.Loop;
        worker.Loop = loop.Queue;
        Assert.True(scheduler.RunBatch(worker, loop.Queue), "The loop was taken from the test.");
    }

    /// <summary>For data that comes over TCP or from another thread.</summary>
    public static void TurnUntil(this EpollLoop loop, Func<bool> condition, string what)
    {
        for (var start = Environment.TickCount64; !condition(); Thread.Sleep(1))
        {
            Assert.True(
                Environment.TickCount64 - start < Waiting.Patience.TotalMilliseconds, $"Waited in vain for {what}.");
            loop.Turn();
        }
    }

    /// <summary>
    /// The events that epoll waits for, according to /proc; <see langword="null"/> if the descriptor is not registered.
    /// </summary>
    public static uint? GetInterest(this EpollLoop loop, int descriptor)
    {
        foreach (var line in File.ReadLines($"/proc/self/fdinfo/{loop.GetEpoll().DangerousGetHandle()}"))
        {
            var words = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            if (words[0] == "tfd:" && int.Parse(words[1], CultureInfo.InvariantCulture) == descriptor)
                return uint.Parse(words[3], NumberStyles.HexNumber, CultureInfo.InvariantCulture);
        }

        return null;
    }

    /// <summary>Replaces the file of a descriptor without freeing its number in between.</summary>
    public static void Replace(int descriptor, int other) => Assert.Equal(descriptor, dup2(other, descriptor));

    public static EpollHandle GetEpoll(this EpollLoop loop) => EpollOf(loop);

    /// <summary>Whether the server has closed a connection. Anything that it sent before is discarded.</summary>
    public static bool IsEnded(this Socket socket)
    {
        try
        {
            while (socket.Poll(TimeSpan.Zero, SelectMode.SelectRead))
            {
                if (socket.Receive(new byte[65_536]) == 0)
                    return true;
            }

            return false;
        }
        catch (SocketException exception) when (exception.SocketErrorCode is SocketError.ConnectionReset)
        {
            return true;
        }
    }

    /// <summary>Waits for the next receive to fail, and returns its error.</summary>
    public static SocketError GetError(this Socket socket)
    {
        Assert.True(socket.Poll(Waiting.Patience, SelectMode.SelectRead));
        return Assert.Throws<SocketException>(() => socket.Receive(new byte[1])).SocketErrorCode;
    }

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "Wait")]
    private static extern void Wait(EventLoop loop, int milliseconds);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "TryFinishEvents")]
    private static extern bool TryFinishEvents(EventLoop loop, RunQueue queue);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_epoll")]
    private static extern ref EpollHandle EpollOf(EpollLoop loop);

    [LibraryImport("libc")]
    private static partial int dup2(int descriptor, int other);
}
