using System.Net;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Connections;

namespace FastCgi.AspNetCore.Benchmarks;

/// <summary>A transport that takes what is sent and remembers how much it was, and the bytes if they are wanted.</summary>
internal sealed class BenchmarkTransport(int loop = 0) : ConnectionTransport
{
    public override int Loop => loop;

    public override EndPoint? RemoteEndPoint => null;

    public override bool CanReset => true;

    public long SentLength { get; private set; }

    public List<byte>? Kept { get; set; }

    public override bool Send(BufferBlock chain)
    {
        for (var block = chain; block is not null; block = block.Next)
        {
            SentLength += block.Length;
            Kept?.AddRange(block.UsedSpan);
        }

        return true;
    }

    public override void Close() => throw new InvalidOperationException("The connection is kept.");

    public override void Reset() => throw new InvalidOperationException("Nothing goes wrong here.");

    public override void ResumeReceiving()
    {
    }
}
