namespace FastCgi.Client.Connections;

/// <summary>Sees what is sent and received. Connections are numbered from 1.</summary>
internal abstract class RecordTrace
{
    /// <summary>A record is sent, or its first bytes have come: then the content may be only the beginning.</summary>
    public virtual void OnRecord(int connection, bool isSent, RecordHeader header, ReadOnlySpan<byte> content)
    {
    }

    public virtual void OnBytes(int connection, bool isSent, ReadOnlySpan<byte> bytes)
    {
    }

    /// <param name="connection">The connection; 0 if there is none.</param>
    /// <param name="isSent">Whether the client did it.</param>
    /// <param name="what"><c>open</c>, <c>refused</c>, <c>end</c> or <c>reset</c>.</param>
    public virtual void OnEvent(int connection, bool isSent, string what)
    {
    }
}
