namespace FastCgi.Tool.Terminal;

/// <summary>Standard output or error. .NET's console ignores a broken pipe, and a stalled stream blocks both.</summary>
internal sealed partial class StandardStream(int descriptor) : ForwardStream(canRead: false)
{
    private const int GetDescriptorFlags = 1;
    private const int Interrupted = 4;

    // A descriptor that was closed at the start may now belong to .NET, whose own descriptors are close-on-exec.
    private readonly int _descriptor = Control(descriptor, GetDescriptorFlags) == 0 ? descriptor : -1;

    public static Stream Open(int descriptor)
    {
        if (!OperatingSystem.IsWindows())
            return new StandardStream(descriptor);
        return descriptor == 1 ? Console.OpenStandardOutput() : Console.OpenStandardError();
    }

    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        Write(buffer.Span);
        return ValueTask.CompletedTask;
    }

    public override void Write(ReadOnlySpan<byte> buffer)
    {
        while (!buffer.IsEmpty)
        {
            var written = Write(_descriptor, buffer, (nuint)buffer.Length);
            if (written >= 0)
                buffer = buffer[(int)written..];
            else if (Marshal.GetLastPInvokeError() is 11 or 35)
                // EAGAIN on Linux and macOS: another program has made the pipe non-blocking, and it is full.
                Thread.Sleep(1);
            else if (Marshal.GetLastPInvokeError() != Interrupted)
                throw new IOException(Marshal.GetLastPInvokeErrorMessage());
        }
    }

    [LibraryImport("libc", EntryPoint = "write", SetLastError = true)]
    private static partial nint Write(int descriptor, ReadOnlySpan<byte> buffer, nuint length);

    [LibraryImport("libc", EntryPoint = "fcntl")]
    private static partial int Control(int descriptor, int command);
}
