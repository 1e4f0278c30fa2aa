namespace FastCgi.AspNetCore.Linux;

/// <summary>A descriptor to free if none is left, so that waiting connections can be accepted and closed.</summary>
internal sealed class DescriptorReserve : IDisposable
{
    private readonly Lock _lock = new();
    private EventHandle? _spare = TryOpen();
    private bool _isDisposed;

    /// <returns>Whether a connection was closed. Another thread may take the spare descriptor in between.</returns>
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

    public void Dispose()
    {
        lock (_lock)
        {
            _isDisposed = true;
            _spare?.Dispose();
        }
    }

    /// <summary>Creates an eventfd, which needs no file system.</summary>
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
