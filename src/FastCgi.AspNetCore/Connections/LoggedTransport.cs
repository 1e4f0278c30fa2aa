using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Connections;

/// <summary>A transport whose records are logged, both ways. Connections have one only while the log of records is switched on.</summary>
internal sealed class LoggedTransport(OutputTransport transport, RecordLog log, string connectionId) : OutputTransport
{
    private readonly RecordDescriber _received = new(connectionId, "received", log.Write);
    private readonly RecordDescriber _sent = new(connectionId, "sent", log.Write);

    /// <summary>Takes what was received. One thread at a time.</summary>
    public void OnReceived(ReadOnlySpan<byte> data) => _received.Take(data);

    /// <inheritdoc/>
    public override bool Send(BufferBlock chain)
    {
        for (var block = chain; block is not null; block = block.Next)
            _sent.Take(block.UsedSpan);
        return transport.Send(chain);
    }

    /// <inheritdoc/>
    public override void End() => transport.End();

    /// <inheritdoc/>
    public override long? UndeliveredLength => transport.UndeliveredLength;
}
