using System.Net.Sockets;

namespace FastCgi.AspNetCore.Linux;

/// <summary>
/// A spare descriptor for the time when there are no others: it is closed to accept a connection, which is closed at once, so
/// that the web server learns that we cannot serve it instead of waiting.
/// </summary>
internal sealed class DescriptorReserve : IDisposable
{
    private readonly Lock _lock = new();
    private EventHandle? _spare = TryOpen();
    private bool _isDisposed;

    /// <summary>Accepts one connection and closes it.</summary>
    /// <returns>Whether there was one, and the spare descriptor, which another thread can take in between.</returns>
    public bool TryAcceptAndClose(SafeSocketHandle listener)
    {
        lock (_lock)
        {
            if (_isDisposed)
                return false;

            _spare?.Dispose();
            var accepted = Libc.Accept(listener);
            if (accepted >= 0)
                Libc.Close(accepted);
            _spare = TryOpen();
            return accepted >= 0;
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        lock (_lock)
        {
            _isDisposed = true;
            _spare?.Dispose();
        }
    }

    /// <summary>Any descriptor will do. This kind needs no file system.</summary>
    private static EventHandle? TryOpen()
    {
        try
        {
            return new EventHandle();
        }
        catch (IOException)
        {
            return null;
        }
    }
}
