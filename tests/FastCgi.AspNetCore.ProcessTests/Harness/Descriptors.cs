using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.ProcessTests.Harness;

/// <summary>Gives descriptors to the processes that are started.</summary>
internal static partial class Descriptors
{
    private const int SetFlags = 2;

    /// <summary>Processes that are started from now on have the socket, under the same number.</summary>
    public static void Inherit(Socket socket) => Assert.Equal(0, fcntl((int)socket.Handle, SetFlags, 0));

    [LibraryImport("libc")]
    private static partial int fcntl(int descriptor, int command, int flags);
}
