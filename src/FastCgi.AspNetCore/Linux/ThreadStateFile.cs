using Microsoft.Win32.SafeHandles;

namespace FastCgi.AspNetCore.Linux;

/// <summary>Whether a thread of this process sleeps. Opened early, because no descriptor may be left later.</summary>
internal sealed class ThreadStateFile(string path) : IDisposable
{
    private readonly SafeFileHandle _file = Libc.Open(path);

    public ThreadStateFile(int threadId)
        : this(string.Create(CultureInfo.InvariantCulture, $"/proc/self/task/{threadId}/stat"))
    {
    }

    /// <summary>Reads the state in a few microseconds; <see langword="null"/> if unknown.</summary>
    public bool? IsSleeping
    {
        get
        {
            if (_file.IsInvalid)
                return null;

            Span<byte> text = stackalloc byte[512];
            try
            {
                text = text[..RandomAccess.Read(_file, text, fileOffset: 0)];
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

    public void Dispose() => _file.Dispose();
}
