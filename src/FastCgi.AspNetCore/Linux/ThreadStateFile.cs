using System.Globalization;
using Microsoft.Win32.SafeHandles;

namespace FastCgi.AspNetCore.Linux;

/// <summary>
/// Whether a thread of this process sleeps, as its file in /proc tells. A file that is opened early is still there when no descriptor
/// is left.
/// </summary>
/// <param name="path">The file.</param>
internal sealed class ThreadStateFile(string path) : IDisposable
{
    private readonly SafeFileHandle _file = Libc.Open(path);

    public ThreadStateFile(int threadId)
        : this(string.Create(CultureInfo.InvariantCulture, $"/proc/self/task/{threadId}/stat"))
    {
    }

    /// <summary>Whether the thread sleeps; <see langword="null"/> where the system does not tell. It costs some microseconds.</summary>
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
            catch (Exception exception) when (exception is IOException or NotSupportedException or UnauthorizedAccessException or ObjectDisposedException)
            {
                return null;
            }

            // The state stands behind the name, which is in brackets and may have brackets in it.
            var state = text.LastIndexOf((byte)')') + 2;
            return state < text.Length ? text[state] is (byte)'S' or (byte)'D' : null;
        }
    }

    /// <inheritdoc/>
    public void Dispose() => _file.Dispose();
}
