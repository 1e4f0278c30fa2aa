namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>
/// Accepts for one listener on one loop. It can be stopped without the loop's thread, which the application may keep.
/// </summary>
/// <param name="accept">Accepts a connection on any thread. It must not throw.</param>
internal sealed class EpollAcceptor(Func<AcceptOutcome> accept, EpollLoop loop, int descriptor, TimeProvider time)
    : IEpollSource
{
    // How many connections are accepted at once. The others follow after the requests of existing connections.
    private const int MaxAcceptsInARow = 64;

    private readonly Lock _lock = new();
    private long _failedAt;
    private bool _isAccepting;
    private TaskCompletionSource? _stopped;

    public ulong Key { get; set; }

    /// <returns>Whether the system can watch the socket. If not, <see cref="Libc.LastError"/> has the reason.</returns>
    public bool TryStart()
        // A system that does not know the flag wakes all loops for each connection.
        => loop.Add(this, descriptor, Libc.EpollIn | Libc.EpollExclusive)
            || (Libc.LastError == Libc.ErrorInvalid && loop.Add(this, descriptor, Libc.EpollIn));

    public void OnEvent(uint events)
    {
        for (var i = 0; i < MaxAcceptsInARow && TryBegin(); i++)
        {
            var outcome = accept();
            End();
            if (outcome == AcceptOutcome.Empty)
                return;
            if (outcome == AcceptOutcome.Failed)
            {
                BackOff();
                return;
            }
        }
    }

    /// <summary>Stops accepting. Any thread may call it.</summary>
    /// <returns>Completes when the connection that is being accepted, if any, has started.</returns>
    public Task StopAsync()
    {
        lock (_lock)
        {
            if (_stopped is not null)
                return _stopped.Task;

            _stopped = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            if (!_isAccepting)
                _stopped.SetResult();
            loop.Forget(this, descriptor);
            return _stopped.Task;
        }
    }

    private bool TryBegin()
    {
        lock (_lock)
            return _isAccepting = _stopped is null;
    }

    private void End()
    {
        lock (_lock)
        {
            _isAccepting = false;
            _stopped?.TrySetResult();
        }
    }

    /// <summary>Pauses accepting: a connection that cannot be accepted would raise the event again and again.</summary>
    private void BackOff()
    {
        lock (_lock)
        {
            if (_stopped is not null)
                return;

            loop.Forget(this, descriptor);
            _failedAt = time.GetTimestamp();
        }

        loop.RetryLater(this);
    }

    /// <summary>Accepts again after the delay. Called by the loop, as soon as it can.</summary>
    /// <returns>Whether there is nothing left to try.</returns>
    public bool TryRestart()
    {
        if (time.GetElapsedTime(_failedAt) < AcceptFailures.RetryDelay)
            return false;

        lock (_lock)
        {
            if (_stopped is not null || TryStart())
                return true;

            _failedAt = time.GetTimestamp();
            return false;
        }
    }
}

/// <summary>The result of an attempt to accept a connection.</summary>
internal enum AcceptOutcome
{
    Taken,
    Empty,
    Failed,
}
