using System.Collections.Concurrent;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>A call that ends the waiting of a loop, and what it is to do then.</summary>
internal sealed unsafe class WakeUp : IEpollSource, IDisposable
{
    private readonly Lock _lock = new();
    private bool _isDisposed;

    /// <summary>The descriptor to wait for.</summary>
    public int Descriptor { get; } = Libc.CreateEvent();

    /// <summary>What the loop is to do.</summary>
    public ConcurrentQueue<Action> Actions { get; } = new();

    /// <inheritdoc/>
    public ulong Key { get; set; }

    /// <summary>Ends the waiting. Harmless when there is no loop any more: a handler may outlive it.</summary>
    public void Call()
    {
        lock (_lock)
        {
            // The number of a closed descriptor may be that of another one by now.
            if (!_isDisposed)
                _ = Libc.WriteEvent(Descriptor, 1);
        }
    }

    /// <inheritdoc/>
    public void OnEvent(uint events)
    {
        ulong value;
        _ = Libc.ReadEvent(Descriptor, &value);
        while (Actions.TryDequeue(out var action))
            action();
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        lock (_lock)
        {
            if (_isDisposed)
                return;

            _isDisposed = true;
            Libc.Close(Descriptor);
        }
    }
}
