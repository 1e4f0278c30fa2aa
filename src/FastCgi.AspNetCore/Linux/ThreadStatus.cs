using System.Buffers.Text;
using System.Globalization;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace FastCgi.AspNetCore.Linux;

/// <summary>What a thread of this process is doing, as /proc tells. Read only on suspicion: it costs some ten microseconds.</summary>
internal readonly partial record struct ThreadStatus(bool IsSleeping, long ProcessorTime)
{
    /// <summary>The system's number of the thread that asks.</summary>
    public static int GetThreadId() => gettid();

    /// <summary>Reads the status of a thread.</summary>
    /// <param name="systemId">The thread's number in the system.</param>
    /// <param name="status">Whether it sleeps, and the nanoseconds it has had the processor.</param>
    public static bool TryRead(int systemId, out ThreadStatus status)
    {
        status = default;
        Span<byte> text = stackalloc byte[512];
        var folder = string.Create(CultureInfo.InvariantCulture, $"/proc/self/task/{systemId}/");
        if (!TryReadFile(folder + "stat", text, out var length))
            return false;

        // The state stands behind the name, which is in brackets and may have brackets in it.
        var state = text[..length].LastIndexOf((byte)')') + 2;
        var isSleeping = state < length && text[state] is (byte)'S' or (byte)'D';
        if (!TryReadFile(folder + "schedstat", text, out length) || !Utf8Parser.TryParse(text[..length], out long processorTime, out _))
            return false;

        status = new ThreadStatus(isSleeping, processorTime);
        return true;
    }

    private static bool TryReadFile(string path, Span<byte> buffer, out int length)
    {
        length = 0;
        try
        {
            using SafeFileHandle file = File.OpenHandle(path);
            length = RandomAccess.Read(file, buffer, fileOffset: 0);
            return true;
        }
        catch (IOException)
        {
            // The thread has ended.
            return false;
        }
    }

    [LibraryImport(Libc.Library)]
    private static partial int gettid();
}
