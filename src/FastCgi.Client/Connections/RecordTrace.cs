namespace FastCgi.Client.Connections;

/// <summary>Observes the bytes and records of connections, which are numbered from 1.</summary>
internal abstract class RecordTrace
{
    /// <summary>Called before a record is sent, or when it starts to arrive, maybe with incomplete content.</summary>
    public virtual void OnRecord(int connection, bool isSent, RecordHeader header, ReadOnlySpan<byte> content)
    {
    }

    public virtual void OnBytes(int connection, bool isSent, ReadOnlySpan<byte> bytes)
    {
    }

    /// <summary>Called for a change: <c>open</c>, <c>refused</c> (connection 0), <c>end</c>, or <c>reset</c>.</summary>
    public virtual void OnEvent(int connection, bool isSent, string what)
    {
    }
}
