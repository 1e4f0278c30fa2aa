namespace FastCgi.AspNetCore.Linux;

/// <summary>Whether a thread of this process sleeps. Opened early, because no descriptor may be left later.</summary>
internal sealed class ThreadStateFile : IDisposable
{
    // More threads are rarely watched at a time. A file for each of hundreds would use up the descriptors that
    // connections leave to .NET. The others are opened for each read.
    private const int MaxOpen = 64;

    private static int s_openCount;

    private readonly string _path;
    private SafeFileHandle? _file;

    public ThreadStateFile(int threadId)
        : this(string.Create(CultureInfo.InvariantCulture, $"/proc/self/task/{threadId}/stat"))
    {
    }

    public ThreadStateFile(string path)
    {
        _path = path;
        if (Interlocked.Increment(ref s_openCount) <= MaxOpen)
            _file = Libc.Open(path);
        else
            Interlocked.Decrement(ref s_openCount);
    }

    /// <summary>Reads the state in a few microseconds; <see langword="null"/> if unknown.</summary>
    public bool? IsSleeping
    {
        get
        {
            if (Volatile.Read(ref _file) is { } open)
                return Read(open);

            using var file = Libc.Open(_path);
            return Read(file);
        }
    }

    public void Dispose()
    {
        if (Interlocked.Exchange(ref _file, null) is not { } file)
            return;

        file.Dispose();
        Interlocked.Decrement(ref s_openCount);
    }

    private static bool? Read(SafeFileHandle file)
    {
        if (file.IsInvalid)
            return null;

        Span<byte> text = stackalloc byte[512];
        try
        {
            text = text[..RandomAccess.Read(file, text, fileOffset: 0)];
        }
        catch (Exception exception) when (exception is IOException or NotSupportedException
            or UnauthorizedAccessException or ObjectDisposedException)
        {
            return null;
        }

        // The state follows the name, which is in parentheses and may contain parentheses.
        var state = text.LastIndexOf((byte)')') + 2;
        return state < text.Length ? text[state] is (byte)'S' or (byte)'D' : null;
    }
}
