using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.Linux;

/// <summary>The system's calls on descriptors that this process was given and .NET knows nothing of. Not for Windows.</summary>
internal static unsafe partial class Descriptors
{
    private const string Folder = "/proc/self/fd";
    private const string NullDevice = "/dev/null";
    private const int ReadWrite = 2;
    private const int Duplicate = 0;
    private const int GetFlags = 1;
    private const int SetFlags = 2;
    private const int CloseOnExec = 1;
    private const int GetStatus = 3;
    private const int AccessMode = 3;
    private const int ReadOnly = 0;

    // Of SOL_SOCKET and SO_ACCEPTCONN, Linux has its own numbers.
    private static readonly int s_socketLevel = OperatingSystem.IsLinux() ? 1 : 0xffff;
    private static readonly int s_acceptConnection = OperatingSystem.IsLinux() ? 30 : 2;

    /// <summary>How many are open. The system lists them as files.</summary>
    /// <returns><see langword="null"/> where it does not, most likely because there is no descriptor left to read the list with.</returns>
    public static long? Count()
    {
        try
        {
            // From Linux 6.2 on, the size of the folder is the number of those that are taken, as the limit has it: one that a call waits for
            // is among them, and not listed. Without the one that it is read with.
            return (GetFolderSize() is > 0 and var count ? count : Directory.EnumerateFileSystemEntries(Folder).LongCount()) - 1;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    /// <summary>Whether a descriptor is open.</summary>
    public static bool IsOpen(int descriptor) => fcntl(descriptor, GetFlags, 0) >= 0;

    /// <summary>Whether a descriptor is a socket that listens.</summary>
    public static bool IsListening(int descriptor)
    {
        var value = 0;
        var size = (uint)sizeof(int);
        return getsockopt(descriptor, s_socketLevel, s_acceptConnection, &value, &size) == 0 && value != 0;
    }

    /// <summary>Keeps a descriptor from the programs that this process starts.</summary>
    public static void SetCloseOnExec(int descriptor) => _ = fcntl(descriptor, SetFlags, CloseOnExec);

    /// <summary>Moves what is at a standard stream to another descriptor, and leaves the null device in its place.</summary>
    /// <returns>The descriptor, which programs that this process starts do not get.</returns>
    public static int MoveFromStandardStream(int stream)
    {
        var moved = fcntl(stream, Duplicate, 3);
        var none = open(NullDevice, ReadWrite);
        if (moved < 0 || none < 0)
            throw new IOException($"Descriptor {stream} cannot be moved: {Marshal.GetPInvokeErrorMessage(Marshal.GetLastPInvokeError())}.");

        SetCloseOnExec(moved);
        _ = dup2(none, stream);
        Libc.Close(none);
        return moved;
    }

    /// <summary>Opens the null device; it gets the lowest descriptor that is free.</summary>
    public static void OpenNullDevice() => _ = open(NullDevice, ReadWrite);

    /// <summary>Whether a descriptor is open for reading alone.</summary>
    public static bool IsReadOnly(int descriptor)
    {
        var flags = fcntl(descriptor, GetStatus, 0);
        return flags >= 0 && (flags & AccessMode) == ReadOnly;
    }

    private static long GetFolderSize()
    {
        using var folder = Libc.Open(Folder);
        return folder.IsInvalid ? 0 : RandomAccess.GetLength(folder);
    }

    [LibraryImport(Libc.Library, SetLastError = true)]
    private static partial int fcntl(int descriptor, int command, int argument);

    [LibraryImport(Libc.Library, SetLastError = true)]
    private static partial int getsockopt(int descriptor, int level, int name, void* value, uint* size);

    [LibraryImport(Libc.Library, SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int open(string path, int flags);

    [LibraryImport(Libc.Library)]
    private static partial int dup2(int descriptor, int other);
}
