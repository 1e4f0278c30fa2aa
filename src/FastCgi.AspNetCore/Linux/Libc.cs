// Load the system's C library, not a file of that name in the application folder.
[assembly: DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]

namespace FastCgi.AspNetCore.Linux;

internal static unsafe partial class Libc
{
    public const uint EpollIn = 0x1;
    public const uint EpollOut = 0x4;
    public const uint EpollError = 0x8;
    public const uint EpollHangUp = 0x10;
    public const uint EpollPeerHangUp = 0x2000;
    public const uint EpollExclusive = 1u << 28;
    public const uint EpollEdgeTriggered = 1u << 31;

    public const int MessageNoSignal = 0x4000;
    public const int MessagePeek = 0x2;

    public const int ErrorNoEntry = 2;
    public const int ErrorAccessDenied = 13;
    public const int ErrorInterrupted = 4;
    public const int ErrorAgain = 11;
    public const int ErrorExists = 17;
    public const int ErrorOutOfMemory = 12;
    public const int ErrorNotAFolder = 20;
    public const int ErrorInvalid = 22;
    public const int ErrorTooManyOpenFilesInSystem = 23;
    public const int ErrorTooManyOpenFiles = 24;
    public const int ErrorNotSupported = 95;
    public const int ErrorConnectionAborted = 103;
    public const int ErrorNoBuffers = 105;

    public const int ShutdownWrite = 1;
    public const int SocketLevel = 1;

    /// <summary>O_CLOEXEC, which has the same value for epoll instances, eventfds, and sockets.</summary>
    public const int CloseOnExec = 0x80000;
    public const int NonBlocking = 0x800;

    internal const string Library = "libc";

    private const int ErrorNoNetwork = 64;
    private const int ErrorProtocol = 71;
    private const int ErrorNoProtocolOption = 92;
    private const int ErrorNetworkDown = 100;
    private const int ErrorNetworkUnreachable = 101;
    private const int ErrorTimedOut = 110;
    private const int ErrorHostDown = 112;
    private const int ErrorHostUnreachable = 113;
    private const int SendBufferOption = 7;
    private const int LingerOption = 13;
    private const nuint UnsentLength = 0x5411;

    public static int LastError => Marshal.GetLastPInvokeError();

    public static int Accept(SafeSocketHandle listener) => accept4(listener, null, null, CloseOnExec | NonBlocking);

    public static SafeFileHandle Open(string path) => open(path, CloseOnExec);

    public static void Close(int descriptor) => _ = close(descriptor);

    /// <summary>Whether data can be received. The end of the stream does not count.</summary>
    public static bool HasInput(int socket)
    {
        byte first;
        return Receive(socket, &first, 1, MessagePeek) > 0;
    }

    /// <summary>
    /// The number of bytes that the peer has not acknowledged (TCP), or the size of the buffers that it has not read to
    /// their ends (Unix); 0 if unknown.
    /// </summary>
    public static int GetUndeliveredLength(int socket)
        => ioctl(socket, UnsentLength, out var length) < 0 ? 0 : length;

    public static bool IsShutDown(int socket)
    {
        var descriptor = new PollDescriptor { Descriptor = socket, Events = (short)EpollPeerHangUp };
        return poll(ref descriptor, 1, 0) > 0 && (descriptor.Events & descriptor.Found) != 0;
    }

    public static void ResetOnClose(int socket)
    {
        var linger = stackalloc int[2] { 1, 0 };
        _ = setsockopt(socket, SocketLevel, LingerOption, linger, 2 * sizeof(int));
    }

    /// <summary>Raises the send buffer to the limit of the system (net.core.wmem_max).</summary>
    public static void EnlargeSendBuffer(int socket)
    {
        var length = int.MaxValue;
        _ = setsockopt(socket, SocketLevel, SendBufferOption, &length, sizeof(int));
    }

    public static string GetMessage(int error) => Marshal.GetPInvokeErrorMessage(error);

    public static IOException GetException(string? call = null)
        => new((call is null ? string.Empty : call + " failed: ") + GetMessage(LastError), LastError);

    /// <summary>Whether an error of accept concerns only the connection to be accepted (accept(2)).</summary>
    public static bool IsOfOneConnection(int error)
        => error is ErrorConnectionAborted or ErrorNoNetwork or ErrorProtocol or ErrorNoProtocolOption
            or ErrorNetworkDown or ErrorNetworkUnreachable
            or ErrorTimedOut or ErrorHostDown or ErrorHostUnreachable;

    [LibraryImport(Library, EntryPoint = "recv", SetLastError = true)]
    public static partial nint Receive(int socket, byte* buffer, nint length, int flags);

    [LibraryImport(Library, EntryPoint = "send", SetLastError = true)]
    public static partial nint Send(int socket, byte* buffer, nint length, int flags);

    [LibraryImport(Library, EntryPoint = "sendmsg", SetLastError = true)]
    public static partial nint SendMessage(int socket, MessageHeader* message, int flags);

    [LibraryImport(Library, EntryPoint = "shutdown", SetLastError = true)]
    public static partial int Shutdown(int socket, int how);

    [LibraryImport(Library)]
    private static partial int close(int descriptor);

    [LibraryImport(Library)]
    private static partial int poll(ref PollDescriptor descriptors, nuint count, int timeoutMilliseconds);

    [LibraryImport(Library, SetLastError = true)]
    private static partial int accept4(SafeSocketHandle socket, void* address, void* length, int flags);

    [LibraryImport(Library, SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial SafeFileHandle open(string path, int flags);

    [LibraryImport(Library, SetLastError = true)]
    private static partial int setsockopt(int socket, int level, int name, void* value, int length);

    [LibraryImport(Library)]
    private static partial int ioctl(int socket, nuint request, out int value);

    [StructLayout(LayoutKind.Sequential)]
    private struct PollDescriptor
    {
        public int Descriptor;
        public short Events;
        public short Found;
    }

    [StructLayout(LayoutKind.Sequential)]
    public struct IOVector
    {
        public byte* Base;
        public nint Length;
    }

    [StructLayout(LayoutKind.Sequential)]
    public struct MessageHeader
    {
        public void* Name;
        public uint NameLength;
        public IOVector* Vectors;
        public nint VectorCount;
        public void* Control;
        public nint ControlLength;
        public int Flags;
    }
}
