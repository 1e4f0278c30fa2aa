namespace FastCgi.AspNetCore.Linux;

/// <summary>Closes the accept queue before the socket, because closing the socket resets queued connections, perhaps with a POST.</summary>
internal static class AcceptQueue
{
    private const int SocketLevel = 1;
    private const int AttachFilter = 26;
    private const int BindToInterface = 62;

    // No network interface has this index, in any byte order.
    private const int NoInterface = int.MaxValue;

    // Started handshakes complete within a round trip in a server network.
    private static readonly TimeSpan s_handshakeTime = TimeSpan.FromMilliseconds(10);

    /// <summary>
    /// Refuses new connections; those in the queue can still be accepted. For Unix sockets, this is one call. TCP has none: the socket is bound to an
    /// interface that does not exist, so the kernel finds no listener for a SYN and refuses it at once. Before Linux 5.7, that requires a privilege; SYN
    /// packets are dropped instead, retransmitted after the socket is closed, and refused then.
    /// </summary>
    /// <returns>Whether the system supports it. A sandbox may forbid it; then a connection that arrives during the close is reset.</returns>
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

    public static bool TryLeaveInterfaces(Socket socket)
        => TrySet(socket, BindToInterface, MemoryMarshal.AsBytes<int>([NoInterface]));

    public static unsafe bool TryDropSyn(Socket socket)
    {
        // Classic BPF (ldb, jset, ret, ret): drops packets with SYN in the TCP flags, and passes others.
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

    [StructLayout(LayoutKind.Sequential)]
    private unsafe struct FilterProgram
    {
        public ushort Length;
        public ulong* Instructions;
    }
}
