using FastCgi.AspNetCore.Protocol;

namespace FastCgi.Client.Connections;

/// <summary>Sees each record when it is sent, or when its first bytes have come.</summary>
internal abstract class RecordTrace
{
    /// <param name="connection">The number of the connection, from 1.</param>
    /// <param name="isSent">Whether it goes to the application.</param>
    /// <param name="header">The record's header.</param>
    /// <param name="content">The content that is there; of a received record it may be the beginning only.</param>
    public abstract void OnRecord(int connection, bool isSent, RecordHeader header, ReadOnlySpan<byte> content);
}
