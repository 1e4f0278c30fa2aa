namespace FastCgi.AspNetCore.Linux;

/// <summary>System calls on inherited descriptors. Other systems call the variadic fcntl differently.</summary>
[SupportedOSPlatform("linux")]
internal static partial class Descriptors
{
    private const string Folder = "/proc/self/fd";
    private const string NullDevice = "/dev/null";
    private const int StandardOutput = 1;
    private const int StandardError = 2;
    private const int ReadWrite = 2;
    private const int Duplicate = 0;
    private const int GetFlags = 1;
    private const int SetFlags = 2;
    private const int CloseOnExec = 1;
    private const int GetStatus = 3;
    private const int AccessMode = 3;
    private const int ReadOnly = 0;
    private const int AcceptsConnections = 30;

    /// <returns>Null if unknown, most likely because no descriptor is left to read the folder.</returns>
    public static long? Count()
    {
        try
        {
            // Without the descriptor that reads the folder.
            return Directory.EnumerateFileSystemEntries(Folder).LongCount() - 1;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    /// <summary>Fills standard streams, which a FastCGI parent process may leave closed.</summary>
    public static void SecureStandardStreams()
    {
        // Otherwise, a connection would get the descriptor of a closed stream.
        for (var stream = 0; stream <= StandardError; stream++)
        {
            if (!IsOpen(stream))
                _ = open(NullDevice, ReadWrite);
        }

        // The runtime has already created its own pipes.
        if (IsPipeOfTheRuntime(StandardOutput))
            Console.SetOut(TextWriter.Null);
        if (IsPipeOfTheRuntime(StandardError))
            Console.SetError(TextWriter.Null);
    }

    /// <summary>Whether it is an end of a pipe that the runtime created for itself, reading end first.</summary>
    internal static bool IsPipeOfTheRuntime(int stream)
        => IsReadOnly(stream)
            || (IsReadOnly(stream - 1) && GetPipeName(stream) is { } pipe && pipe == GetPipeName(stream - 1));

    public static bool IsOpen(int descriptor) => fcntl(descriptor, GetFlags, 0) >= 0;

    public static bool IsListening(int descriptor)
    {
        var size = (uint)sizeof(int);
        return getsockopt(descriptor, Libc.SocketLevel, AcceptsConnections, out var value, ref size) == 0 && value != 0;
    }

    public static void SetCloseOnExec(int descriptor) => _ = fcntl(descriptor, SetFlags, CloseOnExec);

    /// <summary>Moves a standard stream to another descriptor and replaces it with the null device.</summary>
    public static int MoveFromStandardStream(int stream)
    {
        var moved = fcntl(stream, Duplicate, 3);
        var none = open(NullDevice, ReadWrite);
        if (moved < 0 || none < 0)
            throw new IOException($"Failed to move descriptor {stream}: {Libc.GetMessage(Libc.LastError)}.");

        SetCloseOnExec(moved);
        _ = dup2(none, stream);
        Libc.Close(none);
        return moved;
    }

    internal static bool IsReadOnly(int descriptor)
    {
        var flags = fcntl(descriptor, GetStatus, 0);
        return flags >= 0 && (flags & AccessMode) == ReadOnly;
    }

    /// <returns>A name that both ends of a pipe share; <see langword="null"/> for another file.</returns>
    internal static string? GetPipeName(int descriptor)
    {
        var target = new FileInfo($"{Folder}/{descriptor}").LinkTarget;
        return target is not null && target.StartsWith("pipe:", StringComparison.Ordinal) ? target : null;
    }

    [LibraryImport(Libc.Library, SetLastError = true)]
    private static partial int fcntl(int descriptor, int command, int argument);

    [LibraryImport(Libc.Library, SetLastError = true)]
    private static partial int getsockopt(int descriptor, int level, int name, out int value, ref uint size);

    [LibraryImport(Libc.Library, SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int open(string path, int flags);

    [LibraryImport(Libc.Library)]
    private static partial int dup2(int descriptor, int other);
}
