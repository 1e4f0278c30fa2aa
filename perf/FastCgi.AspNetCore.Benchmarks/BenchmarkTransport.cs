using System.Net;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Streams;

namespace FastCgi.AspNetCore.Benchmarks;

/// <summary>A transport that accepts everything and records the number of bytes and, on request, the bytes.</summary>
internal sealed class BenchmarkTransport : ConnectionTransport
{
    public override string DescribePeer() => "a test";

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

    public override void Close()
        => throw new InvalidOperationException("The connection is kept, and nothing goes wrong.");

    public override void Run(ref ReadyRequests ready) => throw new NotSupportedException();

    public override void ResumeReceiving()
    {
    }
}
