namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>
/// A descriptor that is kept for the time when there are no others: it is given up to accept a connection, which is closed at once, so
/// that the web server learns that we cannot serve it, instead of waiting, and the loop does not spin.
/// </summary>
internal sealed class DescriptorReserve : IDisposable
{
    private readonly Lock _lock = new();
    private int _descriptor = Libc.OpenReserve();

    /// <summary>Accepts one connection and closes it.</summary>
    public void AcceptAndClose(int listener)
    {
        lock (_lock)
        {
            if (_descriptor >= 0)
                Libc.Close(_descriptor);
            var accepted = Libc.Accept(listener);
            if (accepted >= 0)
                Libc.Close(accepted);
            _descriptor = Libc.OpenReserve();
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        lock (_lock)
        {
            if (_descriptor >= 0)
                Libc.Close(_descriptor);
            _descriptor = -1;
        }
    }
}
