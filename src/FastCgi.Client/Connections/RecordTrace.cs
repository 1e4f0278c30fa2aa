namespace FastCgi.Client.Connections;

/// <summary>Sees each record when it is sent, or when its first bytes have come.</summary>
internal abstract class RecordTrace
{
    /// <summary>Connections are numbered from 1. Of a received record, the content may be only the beginning.</summary>
    public abstract void OnRecord(int connection, bool isSent, RecordHeader header, ReadOnlySpan<byte> content);
}
