using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Linux;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>Sends chains of blocks over a socket that does not block.</summary>
internal static unsafe class SocketSend
{
    // The vectors of one call: a send of the outlet has no more blocks than this, unless they are nearly empty.
    private const int MaxVectors = 64;

    /// <summary>Sends what the socket takes.</summary>
    /// <param name="socket">The socket.</param>
    /// <param name="block">Where to begin.</param>
    /// <param name="offset">The bytes of the first block that were sent before; afterwards those of the block that is returned.</param>
    /// <param name="isLost">Whether the connection is broken, so that nothing can be sent any more.</param>
    /// <returns>The block where the socket was full, or <see langword="null"/> if nothing is left to send.</returns>
    public static BufferBlock? Send(int socket, BufferBlock block, ref int offset, out bool isLost)
    {
        isLost = false;
        BufferBlock? rest = block;
        while (rest is not null)
        {
            var sent = rest.Next is null ? SendOne(socket, rest, offset) : SendSeveral(socket, rest, offset);
            if (sent < 0)
            {
                var error = Libc.LastError;
                if (error == Libc.ErrorInterrupted)
                    continue;
                if (error == Libc.ErrorAgain)
                    return rest;

                isLost = true;
                return null;
            }

            rest = Skip(rest, sent, ref offset);
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
            vectors[count++] = new Libc.IOVector { Base = (byte*)next.Address + next.Start + offset, Length = next.Length - offset };
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
