using FastCgi.AspNetCore.Accounts;

namespace FastCgi.AspNetCore.Linux;

/// <summary>The file of a Unix socket. When a socket bound by .NET closes, it removes any file at the path.</summary>
[SupportedOSPlatform("linux")]
internal static partial class SocketFile
{
    private const int CurrentFolder = -100;
    private const int NoFollow = 0x100;
    private const uint Type = 0x1;
    private const uint ModeAndOwner = 0x2 | 0x8 | 0x10;
    private const int FileTypeMask = 0xF000;
    private const int SocketType = 0xC000;
    private const int Exclusive = 2;
    private const int NonBlocking = 4;
    private const int UnixFamily = 1;
    private const int Stream = 1;

    /// <returns>Whether a file is a socket, without following links; <see langword="null"/> if absent.</returns>
    public static bool? IsSocket(string path)
    {
        if (statx(CurrentFolder, path, NoFollow, Type, out var status) == 0)
            return (status.Mode & FileTypeMask) == SocketType;
        // If the folder cannot be searched, the bind that follows reports it.
        if (Libc.LastError is Libc.ErrorNoEntry or Libc.ErrorNotAFolder or Libc.ErrorAccessDenied)
            return null;

        throw Libc.GetException("statx of " + path);
    }

    public static FilePermissions? GetPermissions(string path)
        => statx(CurrentFolder, path, 0, ModeAndOwner, out var status) == 0
            ? new FilePermissions(status.User, status.Group, (UnixFileMode)(status.Mode & 0xFFF))
            : null;

    /// <summary>Creates a socket file. The socket does not listen yet, so no client can connect.</summary>
    public static Socket Bind(string path)
    {
        var address = new UnixDomainSocketEndPoint(path).Serialize();
        var handle = new SafeSocketHandle(socket(UnixFamily, Stream | Libc.CloseOnExec, 0), ownsHandle: true);
        if (!handle.IsInvalid && bind(handle, address.Buffer.Span, (uint)address.Size) == 0)
            return new Socket(handle);

        var error = Libc.GetException();
        handle.Dispose();
        throw error;
    }

    /// <summary>Locks the folder of a socket, to exclude other instances. Any reader of a folder can lock it.</summary>
    /// <returns>Whether no other process holds the lock, or the system cannot lock the folder.</returns>
    public static bool TryLock(SafeFileHandle folder)
    {
        while (!folder.IsInvalid && flock(folder, Exclusive | NonBlocking) != 0)
        {
            if (Libc.LastError != Libc.ErrorInterrupted)
                return Libc.LastError != Libc.ErrorAgain;
        }

        return true;
    }

    public static void ChangeOwner(string path, uint? user, uint? group)
    {
        if (lchown(path, user ?? uint.MaxValue, group ?? uint.MaxValue) != 0)
            throw Libc.GetException();
    }

    /// <summary>Follows no links: another user with access to the folder could misuse a server of root.</summary>
    public static void ChangeMode(string path, UnixFileMode mode)
    {
        if (fchmodat(CurrentFolder, path, (uint)mode, NoFollow) == 0)
            return;

        // glibc before 2.32 does not support the flag.
        if (Libc.LastError != Libc.ErrorNotSupported || IsSocket(path) != true)
            throw Libc.GetException();
        File.SetUnixFileMode(path, mode);
    }

    [LibraryImport(Libc.Library, SetLastError = true)]
    private static partial int bind(SafeSocketHandle socket, ReadOnlySpan<byte> address, uint length);

    [LibraryImport(Libc.Library, SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int fchmodat(int folder, string path, uint mode, int flags);

    [LibraryImport(Libc.Library, SetLastError = true)]
    private static partial int flock(SafeFileHandle descriptor, int operation);

    [LibraryImport(Libc.Library, SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int lchown(string path, uint user, uint group);

    [LibraryImport(Libc.Library, SetLastError = true)]
    private static partial int socket(int family, int type, int protocol);

    [LibraryImport(Libc.Library, SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int statx(int folder, string path, int flags, uint mask, out Statx status);

    /// <summary>struct statx, which is the same on every processor.</summary>
    [StructLayout(LayoutKind.Sequential, Size = 256)]
    private struct Statx
    {
        public uint Mask;
        public uint BlockSize;
        public ulong Attributes;
        public uint Links;
        public uint User;
        public uint Group;
        public ushort Mode;
    }
}
