namespace FastCgi.AspNetCore.Connections;

/// <summary>
/// What a connection is still used by: its transport, until it is closed, and the requests that have left it, until nothing of them is left to do.
/// Lock-free. A mutable struct: keep it in a field, do not copy it.
/// </summary>
internal struct ConnectionUses()
{
    private const long Returned = 1L << 32;

    // The low half counts all uses, the high half the requests whose application has returned: both change at once.
    private long _value = 1;

    /// <summary>The requests that have left the connection while their application still runs. Only while the transport is open.</summary>
    public readonly long LingeringCount
    {
        get
        {
            var value = Volatile.Read(in _value);
            return (uint)value - (value >> 32) - 1;
        }
    }

    /// <summary>A request leaves the connection.</summary>
    public void Add() => Interlocked.Increment(ref _value);

    /// <summary>The application of a request that has left has returned.</summary>
    public void OnReturned() => Interlocked.Add(ref _value, Returned);

    /// <summary>A request whose application has returned is over.</summary>
    /// <returns>Whether that was the last use.</returns>
    public bool RemoveRequest() => Remove(Returned + 1);

    /// <summary>The transport is closed.</summary>
    /// <inheritdoc cref="RemoveRequest"/>
    public bool RemoveTransport() => Remove(1);

    private bool Remove(long uses) => Interlocked.Add(ref _value, -uses) == 0;
}
