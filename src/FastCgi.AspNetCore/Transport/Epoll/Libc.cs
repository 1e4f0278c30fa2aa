using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>The system calls of the epoll engine, as libc has them on Linux.</summary>
internal static unsafe partial class Libc
{
    public const uint EpollIn = 0x1;
    public const uint EpollOut = 0x4;
    public const uint EpollError = 0x8;
    public const uint EpollHangUp = 0x10;
    public const uint EpollPeerHangUp = 0x2000;
    public const uint EpollExclusive = 1u << 28;
    public const uint EpollEdgeTriggered = 1u << 31;

    public const int ControlAdd = 1;
    public const int ControlDelete = 2;
    public const int ControlModify = 3;

    public const int MessageNoSignal = 0x4000;
    public const int MessagePeek = 0x2;

    public const int ErrorInterrupted = 4;
    public const int ErrorAgain = 11;
    public const int ErrorInvalid = 22;
    public const int ErrorTooManyOpenFilesInSystem = 23;
    public const int ErrorTooManyOpenFiles = 24;
    public const int ErrorConnectionAborted = 103;
    public const int ErrorConnectionReset = 104;
    public const int ErrorNoBuffers = 105;
    public const int ErrorOutOfMemory = 12;

    public const int ShutdownWrite = 1;

    private const string Library = "libc";
    private const int CloseOnExec = 0x80000;
    private const int NonBlocking = 0x800;

    /// <summary>Makes an epoll instance.</summary>
    public static int CreateEpoll() => Checked(epoll_create1(CloseOnExec), "epoll_create1");

    /// <summary>Makes a counter that wakes whoever waits for it.</summary>
    public static int CreateEvent() => Checked(eventfd(0, CloseOnExec | NonBlocking), "eventfd");

    /// <summary>Accepts a connection without blocking.</summary>
    /// <returns>The descriptor, or -1 and the error of the last call.</returns>
    public static int Accept(int listener) => accept4(listener, null, null, CloseOnExec | NonBlocking);

    /// <summary>Opens a descriptor that is of no use but to be closed when there are no others left.</summary>
    public static int OpenReserve() => open("/dev/null", CloseOnExec);

    /// <summary>Closes a descriptor. There is nothing to be done about an error: the descriptor is gone all the same.</summary>
    public static void Close(int descriptor) => _ = close(descriptor);

    /// <summary>Whether bytes wait to be received. The end of what the peer sends is none.</summary>
    public static bool HasInput(int socket)
    {
        byte first;
        return Receive(socket, &first, 1, MessagePeek) > 0;
    }

    /// <summary>The error of the last call on this thread.</summary>
    public static int LastError => Marshal.GetLastPInvokeError();

    [LibraryImport(Library, EntryPoint = "epoll_ctl", SetLastError = true)]
    public static partial int EpollControl(int epoll, int operation, int descriptor, EpollEvent* epollEvent);

    [LibraryImport(Library, EntryPoint = "epoll_wait", SetLastError = true)]
    public static partial int EpollWait(int epoll, EpollEvent* events, int maxEvents, int timeout);

    [LibraryImport(Library, EntryPoint = "recv", SetLastError = true)]
    public static partial nint Receive(int socket, byte* buffer, nint length, int flags);

    [LibraryImport(Library, EntryPoint = "send", SetLastError = true)]
    public static partial nint Send(int socket, byte* buffer, nint length, int flags);

    [LibraryImport(Library, EntryPoint = "sendmsg", SetLastError = true)]
    public static partial nint SendMessage(int socket, MessageHeader* message, int flags);

    [LibraryImport(Library, EntryPoint = "shutdown", SetLastError = true)]
    public static partial int Shutdown(int socket, int how);

    [LibraryImport(Library, EntryPoint = "setsockopt", SetLastError = true)]
    public static partial int SetSocketOption(int socket, int level, int name, void* value, int length);

    [LibraryImport(Library, EntryPoint = "eventfd_write")]
    public static partial int WriteEvent(int descriptor, ulong value);

    [LibraryImport(Library, EntryPoint = "eventfd_read")]
    public static partial int ReadEvent(int descriptor, ulong* value);

    [LibraryImport(Library, EntryPoint = "gettid")]
    public static partial int GetThreadId();

    [LibraryImport(Library, EntryPoint = "getrusage")]
    public static partial int GetResourceUsage(int who, ResourceUsage* usage);

    [LibraryImport(Library)]
    private static partial int close(int descriptor);

    [LibraryImport(Library, SetLastError = true)]
    private static partial int epoll_create1(int flags);

    [LibraryImport(Library, SetLastError = true)]
    private static partial int eventfd(uint value, int flags);

    [LibraryImport(Library, SetLastError = true)]
    private static partial int accept4(int socket, void* address, void* length, int flags);

    [LibraryImport(Library, SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int open(string path, int flags);

    private static int Checked(int result, string call)
        => result >= 0 ? result : throw new IOException($"{call} failed: {Marshal.GetPInvokeErrorMessage(LastError)}");

    /// <summary>struct iovec.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct IOVector
    {
        public byte* Base;
        public nint Length;
    }

    /// <summary>struct msghdr.</summary>
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

    /// <summary>struct rusage: what is asked for stands at the front and at the back.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct ResourceUsage
    {
        public const int OfThisThread = 1;

        public nint UserSeconds;
        public nint UserMicroseconds;
        public nint SystemSeconds;
        public nint SystemMicroseconds;
        public fixed long Others[12];
        public nint VoluntarySwitches;
        public nint InvoluntarySwitches;
    }
}
