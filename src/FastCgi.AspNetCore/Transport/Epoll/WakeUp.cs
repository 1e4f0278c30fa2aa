using FastCgi.AspNetCore.Linux;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>A call that ends the waiting of a loop, which then looks at what was queued.</summary>
internal sealed class WakeUp : IEpollSource, IDisposable
{
    private readonly EventHandle _event = new();

    /// <summary>The descriptor to wait for.</summary>
    public int Descriptor => _event.Descriptor;

    /// <inheritdoc/>
    public ulong Key { get; set; }

    /// <summary>Ends the waiting. Harmless when there is no loop any more: a handler may outlive it.</summary>
    public void Call() => _event.Signal();

    /// <inheritdoc/>
    public void OnEvent(uint events) => _event.Reset();

    /// <inheritdoc/>
    public void Dispose() => _event.Dispose();
}
