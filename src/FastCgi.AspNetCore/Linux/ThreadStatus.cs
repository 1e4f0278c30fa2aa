using System.Buffers.Text;
using System.Globalization;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace FastCgi.AspNetCore.Linux;

/// <summary>What a thread of this process is doing, as /proc tells. Read only on suspicion: it costs some ten microseconds.</summary>
internal readonly partial record struct ThreadStatus(bool IsSleeping, long ProcessorTime)
{
    /// <summary>The system's number of the thread that asks.</summary>
    /// <returns>0 where the system does not tell.</returns>
    public static int GetThreadId()
    {
        try
        {
            return gettid();
        }
        catch (EntryPointNotFoundException)
        {
            // glibc has it since 2.30, and .NET runs on older ones.
            return ReadThreadId();
        }
    }

    /// <summary>The number of the thread that asks, as /proc tells.</summary>
    /// <returns>0 where it does not.</returns>
    public static int ReadThreadId()
    {
        try
        {
            var target = Path.GetFileName(new FileInfo("/proc/thread-self").LinkTarget);
            return int.TryParse(target, NumberStyles.None, CultureInfo.InvariantCulture, out var id) ? id : 0;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return 0;
        }
    }

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
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // The thread has ended, there is no descriptor left, or /proc is hidden.
            return false;
        }
    }

    [LibraryImport(Libc.Library)]
    private static partial int gettid();
}
