using System.Net.Sockets;
using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.Linux;

/// <summary>
/// The accept queue of a listening socket. It is closed before the socket: to close the socket at once would reset connections
/// that the web server has opened and perhaps used, which it does not forgive for a POST.
/// </summary>
internal static class AcceptQueue
{
    private const int SocketLevel = 1;
    private const int AttachFilter = 26;
    private const int BindToInterface = 62;

    // An index that no network interface has, in the byte order of the machine.
    private const int NoInterface = int.MaxValue;

    // Handshakes that have begun end within a round trip, of a network of servers.
    private static readonly TimeSpan s_handshakeTime = TimeSpan.FromMilliseconds(10);

    /// <summary>
    /// Takes no more connections; those in the queue can still be accepted. On a unix socket, that is one call. TCP has none: the
    /// socket is bound to an interface that does not exist, so that the system finds no listener for a packet that asks for a connection,
    /// and refuses it at once. Linux before 5.7 wants a privilege for that; there such packets are dropped, come again when the socket is
    /// closed, and are refused then.
    /// </summary>
    /// <returns>Whether the system does so. A sandbox may forbid it; then a connection that comes in the instant of the close is reset.</returns>
    public static async ValueTask<bool> TryCloseAsync(Socket socket)
    {
        if (!OperatingSystem.IsLinux())
            return false;

        try
        {
            if (socket.AddressFamily == AddressFamily.Unix)
            {
                socket.Shutdown(SocketShutdown.Receive);
                return true;
            }
        }
        catch (SocketException)
        {
            return false;
        }

        if (!TryLeaveInterfaces(socket) && !TryDropSyn(socket))
            return false;

        await Task.Delay(s_handshakeTime).ConfigureAwait(false);
        return true;
    }

    /// <summary>Lets the system find no listener any more.</summary>
    public static bool TryLeaveInterfaces(Socket socket)
        => TrySet(socket, BindToInterface, MemoryMarshal.AsBytes<int>([NoInterface]));

    /// <summary>Lets the system drop what asks for a connection.</summary>
    public static unsafe bool TryDropSyn(Socket socket)
    {
        // Of a packet, the byte with TCP's flags: with SYN it is dropped, without it is passed (classic BPF: ldb, jset, ret, ret).
        ulong[] dropSyn = [Instruction(0x30, 0, 0, 13), Instruction(0x45, 0, 1, 2), Instruction(0x06, 0, 0, 0), Instruction(0x06, 0, 0, uint.MaxValue)];
        fixed (ulong* instructions = dropSyn)
        {
            var program = new FilterProgram { Length = (ushort)dropSyn.Length, Instructions = instructions };
            return TrySet(socket, AttachFilter, new ReadOnlySpan<byte>(&program, sizeof(FilterProgram)));
        }
    }

    private static bool TrySet(Socket socket, int option, ReadOnlySpan<byte> value)
    {
        try
        {
            socket.SetRawSocketOption(SocketLevel, option, value);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }

    /// <summary>struct sock_filter: a code of 16 bits, two jumps of 8, an operand of 32.</summary>
    private static ulong Instruction(ushort code, byte jumpTrue, byte jumpFalse, uint operand)
    {
        Span<byte> bytes = [0, 0, jumpTrue, jumpFalse, 0, 0, 0, 0];
        MemoryMarshal.Write(bytes, in code);
        MemoryMarshal.Write(bytes[4..], in operand);
        return MemoryMarshal.Read<ulong>(bytes);
    }

    /// <summary>struct sock_fprog.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private unsafe struct FilterProgram
    {
        public ushort Length;
        public ulong* Instructions;
    }
}
