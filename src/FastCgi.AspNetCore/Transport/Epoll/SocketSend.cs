namespace FastCgi.AspNetCore.Transport.Epoll;

internal static unsafe class SocketSend
{
    // Vectors per call. A send of the output has no more blocks, unless they are nearly empty.
    private const int MaxVectors = 64;

    /// <param name="offset">The number of sent bytes of the first block; on return, of the returned block.</param>
    /// <returns>The block at which the socket was full, or <see langword="null"/> if nothing is left to send.</returns>
    public static BufferBlock? Send(int socket, BufferBlock block, ref int offset, out bool isLost)
    {
        isLost = false;
        BufferBlock? rest = block;
        while (rest is not null)
        {
            var sent = rest.Next is null ? SendOne(socket, rest, offset) : SendSeveral(socket, rest, offset);
            if (sent >= 0)
                rest = Skip(rest, sent, ref offset);
            else if (Libc.LastError == Libc.ErrorAgain)
                return rest;
            else if (Libc.LastError != Libc.ErrorInterrupted)
            {
                isLost = true;
                return null;
            }
        }

        return null;
    }

    private static nint SendOne(int socket, BufferBlock block, int offset)
        => Libc.Send(socket, (byte*)block.Address + block.Start + offset, block.Length - offset, Libc.MessageNoSignal);

    private static nint SendSeveral(int socket, BufferBlock block, int offset)
    {
        var vectors = stackalloc Libc.IOVector[MaxVectors];
        var count = 0;
        for (var next = block; next is not null && count < MaxVectors; next = next.Next)
        {
            var start = (byte*)next.Address + next.Start + offset;
            vectors[count++] = new Libc.IOVector { Base = start, Length = next.Length - offset };
            offset = 0;
        }

        var message = new Libc.MessageHeader { Vectors = vectors, VectorCount = count };
        return Libc.SendMessage(socket, &message, Libc.MessageNoSignal);
    }

    private static BufferBlock? Skip(BufferBlock block, nint sent, ref int offset)
    {
        BufferBlock? rest = block;
        sent += offset;
        while (rest is not null && sent >= rest.Length)
        {
            sent -= rest.Length;
            rest = rest.Next;
        }

        offset = (int)sent;
        return rest;
    }
}
