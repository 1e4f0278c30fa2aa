using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.ProcessTests.Harness;

/// <summary>Passes descriptors to child processes.</summary>
internal static partial class Descriptors
{
    private const int SetFlags = 2;

    /// <summary>Processes started from now on inherit the socket, with the same number.</summary>
    public static void Inherit(Socket socket) => Assert.Equal(0, fcntl((int)socket.Handle, SetFlags, 0));

    [LibraryImport("libc")]
    private static partial int fcntl(int descriptor, int command, int flags);
}
