namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>Accepts for one listener on one loop. It stops without the loop's thread, which may be blocked.</summary>
/// <param name="accept">Accepts a connection on any thread. It must not throw.</param>
internal sealed class EpollAcceptor(Func<AcceptOutcome> accept, EpollLoop loop, int descriptor, TimeProvider time)
    : IEpollSource
{
    // The number of connections to accept at once. Others follow after the requests of existing connections.
    private const int MaxAcceptsInARow = 64;

    private readonly TaskCompletionSource _stopped = new(TaskCreationOptions.RunContinuationsAsynchronously);

    // Counts running attempts to accept, or to watch the socket again.
    private UseCount _uses;
    private long _failedAt;

    public ulong Key { get; set; }

    /// <returns>Whether the system can watch the socket. If not, <see cref="Libc.LastError"/> has the reason.</returns>
    public bool TryStart()
        // A system without the flag wakes all loops for each connection.
        => loop.Add(this, descriptor, Libc.EpollIn | Libc.EpollExclusive)
            || (Libc.LastError == Libc.ErrorInvalid && loop.Add(this, descriptor, Libc.EpollIn));

    public void OnEvent(uint events)
    {
        var outcome = AcceptOutcome.Continue;
        for (var i = 0; i < MaxAcceptsInARow && outcome == AcceptOutcome.Continue && _uses.TryBegin(); i++)
        {
            outcome = accept();
            // A connection that cannot be accepted would raise the event again and again.
            if (outcome == AcceptOutcome.Pause)
            {
                loop.Forget(this, descriptor);
                _failedAt = time.GetTimestamp();
                loop.RetryLater(this);
            }

            EndUse();
        }
    }

    /// <summary>Stops accepting. Any thread may call it.</summary>
    /// <returns>A task that completes when a connection that is being accepted has started.</returns>
    public Task StopAsync()
    {
        if (_uses.Close())
            End();
        return _stopped.Task;
    }

    /// <summary>Resumes accepting after the delay. Called by the loop as often as it can.</summary>
    /// <returns>Whether there is nothing left to try.</returns>
    public bool TryRestart()
    {
        if (time.GetElapsedTime(_failedAt) < AcceptFailures.RetryDelay)
            return false;
        if (!_uses.TryBegin())
            return true;

        var isStarted = TryStart();
        _failedAt = time.GetTimestamp();
        EndUse();
        return isStarted;
    }

    private void EndUse()
    {
        if (_uses.End())
            End();
    }

    /// <summary>Runs once, after the last attempt: nothing watches the socket again.</summary>
    private void End()
    {
        loop.Forget(this, descriptor);
        _stopped.SetResult();
    }
}

internal enum AcceptOutcome
{
    Continue,
    Drained,
    Pause,
}
