using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Linux;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>What one loop does for one listener. It can be stopped without the thread of the loop, which the application may keep.</summary>
internal sealed class EpollAcceptor : IEpollSource
{
    // Connections accepted at once; more have their turn behind the requests of those that are there.
    private const int MaxAcceptsInARow = 64;

    private readonly Func<AcceptOutcome> _accept;
    private readonly EpollLoop _loop;
    private readonly int _descriptor;
    private readonly ITimer _retry;
    private readonly Lock _lock = new();
    private bool _isAccepting;
    private TaskCompletionSource? _stopped;

    /// <param name="accept">Accepts a connection, on any thread, and does not throw.</param>
    /// <param name="loop">The loop.</param>
    /// <param name="descriptor">The listening socket.</param>
    /// <param name="time">The clock.</param>
    public EpollAcceptor(Func<AcceptOutcome> accept, EpollLoop loop, int descriptor, TimeProvider time)
    {
        _accept = accept;
        _loop = loop;
        _descriptor = descriptor;
        _retry = ThreadRoot.StartTimer(time, this, static acceptor => acceptor.OnRetry(), Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan, loop.Log);
    }

    /// <inheritdoc/>
    public ulong Key { get; set; }

    /// <summary>Begins to wait for connections.</summary>
    /// <returns>Whether the system can; if not, <see cref="Libc.LastError"/> says why.</returns>
    public bool TryStart()
    {
        // A system that does not know the flag wakes all loops for each connection.
        return _loop.Add(this, _descriptor, Libc.EpollIn | Libc.EpollExclusive)
            || (Libc.LastError == Libc.ErrorInvalid && _loop.Add(this, _descriptor, Libc.EpollIn));
    }

    /// <inheritdoc/>
    public void OnEvent(uint events)
    {
        for (var i = 0; i < MaxAcceptsInARow && TryBegin(); i++)
        {
            var outcome = _accept();
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

    /// <summary>Accepts no more. Any thread may call it.</summary>
    /// <returns>Completed when the connection that is being accepted, if there is one, has begun.</returns>
    public Task StopAsync()
    {
        lock (_lock)
        {
            if (_stopped is not null)
                return _stopped.Task;

            _stopped = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            if (!_isAccepting)
                _stopped.SetResult();
            _loop.Forget(this, _descriptor);
            _retry.Dispose();
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

    /// <summary>Waits for no connection until some time has passed: with one that cannot be accepted, the event would come again and again.</summary>
    private void BackOff()
    {
        lock (_lock)
        {
            if (_stopped is not null)
                return;

            _loop.Forget(this, _descriptor);
            _retry.Change(AcceptFailures.RetryDelay, Timeout.InfiniteTimeSpan);
        }
    }

    private void OnRetry()
    {
        lock (_lock)
        {
            if (_stopped is null && !TryStart())
                _retry.Change(AcceptFailures.RetryDelay, Timeout.InfiniteTimeSpan);
        }
    }
}
