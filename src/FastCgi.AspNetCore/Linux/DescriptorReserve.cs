using Microsoft.Win32.SafeHandles;

namespace FastCgi.AspNetCore.Linux;

/// <summary>
/// A spare descriptor for the time when there are no others: it is closed to accept a connection, which is closed at once, so
/// that the web server learns that we cannot serve it instead of waiting.
/// </summary>
internal sealed class DescriptorReserve : IDisposable
{
    private const string NullDevice = "/dev/null";

    private readonly Lock _lock = new();
    private SafeFileHandle _spare = Libc.Open(NullDevice);

    /// <summary>Accepts one connection and closes it.</summary>
    public void AcceptAndClose(int listener)
    {
        lock (_lock)
        {
            _spare.Dispose();
            var accepted = Libc.Accept(listener);
            if (accepted >= 0)
                Libc.Close(accepted);
            _spare = Libc.Open(NullDevice);
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        lock (_lock)
            _spare.Dispose();
    }
}
