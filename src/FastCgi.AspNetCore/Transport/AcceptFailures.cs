namespace FastCgi.AspNetCore.Transport;

/// <summary>Handles connections that cannot be accepted, and logs each kind of failure once a minute.</summary>
internal sealed class AcceptFailures(EndPoint endPoint, StreamContext server)
{
    private readonly LogThrottle _lost = new(server.Time);
    private readonly LogThrottle _refused = new(server.Time);
    private readonly LogThrottle _failed = new(server.Time);
    private readonly LogThrottle _startsFailed = new(server.Time);
    private long _closed;

    /// <summary>The delay before the next attempt, to wait for descriptors or memory.</summary>
    public static TimeSpan RetryDelay { get; } = TimeSpan.FromMilliseconds(100);

    /// <summary>Called when a connection was lost before it was accepted. The next one may succeed.</summary>
    public void OnLost(SocketException exception)
    {
        if (_lost.TryAcquire(out var count))
            Report(log => log.AcceptFailed(endPoint, count, exception));
    }

    /// <param name="describe">Describes the peer. Called now, because the connection is about to be closed.</param>
    public void OnPeerRefused(Func<string> describe)
    {
        server.Counters.OnPeerRefused();
        if (!_refused.TryAcquire(out var count))
            return;

        var peer = describe();
        Report(log => log.PeerRefused(endPoint, count, peer));
    }

    public void OnStartFailed(Exception exception)
    {
        if (!_startsFailed.TryAcquire(out var count))
            return;

        // The system has refused to watch the connection. Derived types are about files, such as a missing assembly.
        if (exception.GetType() == typeof(IOException))
            Report(log => log.ConnectionNotWatched(endPoint, count, exception.Message));
        else
            Report(log => log.ConnectionStartFailed(endPoint, exception));
    }

    /// <summary>Whether a connection uses one of the last descriptors. If so, the caller must close it.</summary>
    public bool IsBeyondLimit(nint descriptor)
    {
        if (!OperatingSystem.IsLinux() || descriptor < server.GetMaxConnections())
            return false;

        server.Counters.OnConnectionRejected();
        Interlocked.Increment(ref _closed);
        return true;
    }

    /// <summary>Called when the listener pauses, which waiting connections survive, or at the limit.</summary>
    public void OnFailed(int error)
    {
        if (!_failed.TryAcquire(out var attempts))
            return;

        var closed = Interlocked.Exchange(ref _closed, 0);
        Report(log => log.AcceptOutOfResources(endPoint, Libc.GetMessage(error), attempts, closed, Advise(error)));
    }

    // On the thread pool: this thread may be a loop's.
    private void Report(Action<ILogger> report) => ThreadRoot.Report(server.Log, report);

    private string Advise(int error) => error switch
    {
        Libc.ErrorTooManyOpenFiles => AdviseOnDescriptors(),
        Libc.ErrorTooManyOpenFilesInSystem => "The system's descriptor limit is reached: raise fs.file-max (sysctl).",
        Libc.ErrorNoBuffers or Libc.ErrorOutOfMemory
            => "The system has no memory left for sockets: raise the memory of the machine or the container "
                + "(MemoryMax=), or net.ipv4.tcp_mem.",
        _ => "See accept(2) for the error. A sandbox (SystemCallFilter=, seccomp) may forbid the call.",
    };

    private string AdviseOnDescriptors() => string.Create(
        CultureInfo.InvariantCulture,
        $"The process may have {server.GetMaxDescriptors()} descriptors, {server.GetMaxConnections()} of them for "
            + $"connections: raise LimitNOFILE= in the systemd unit, or ulimit -n.");
}
