namespace FastCgi.AspNetCore.Requests;

/// <summary>The connection, as its requests see it. A base class, so that references go in one direction.</summary>
internal abstract class RequestConnection
{
    /// <summary>The connection's name in logs and in <c>HttpContext.Connection.Id</c>.</summary>
    public abstract string Id { get; }
    public abstract RecordOutput Output { get; }

    /// <summary>Takes the lock of the connection: its parser, request table, lifetime and output.</summary>
    public ConnectionScope EnterLock() => Output.EnterLock();

    /// <summary>Ends a request in one step: removes it from the table, appends the suitable ending, and queues everything.</summary>
    /// <param name="status">The status in END_REQUEST; <see langword="null"/> to cut the response.</param>
    /// <param name="sends">Whether to collect what must be sent now.</param>
    public abstract EndedRequest End(FastCgiRequest request, BufferChain records, ProtocolStatus? status, bool sends);

    /// <summary>Aborts a request so that the client sees an incomplete response, without harming other responses.</summary>
    /// <returns>Whether this call aborted it.</returns>
    public abstract bool TryAbort(FastCgiRequest request, Exception reason);

    /// <summary>Has a request executed on another thread, as if it had become ready now. Returns at once.</summary>
    public abstract void Run(FastCgiRequest request);

    /// <summary>Makes the transport end the connection as its lifetime has decided.</summary>
    public abstract void EndTransport();

    /// <summary>The application of a request that has left the connection has returned. Its callbacks, reports and context are still pending.</summary>
    public abstract void OnApplicationReturned();

    /// <summary>A request whose application has returned is finished.</summary>
    public abstract void OnRequestOver();

    /// <summary>Resumes receiving if it is paused without reason any more: the application or the web server has read.</summary>
    public abstract void ResumeReceiving();
}

/// <summary>A request that has left its connection: the work that remains without the locks.</summary>
/// <param name="Connection">The connection; <see langword="null"/> if the request had already left it.</param>
/// <param name="Chain">What to send now.</param>
/// <param name="EndsTransport">Whether to end the connection then.</param>
internal readonly record struct EndedRequest(RequestConnection? Connection, BufferBlock? Chain, bool EndsTransport)
{
    public void Send()
    {
        if (Chain is not null)
            Connection!.Output.SendCollected(Chain);
        if (EndsTransport)
            Connection!.EndTransport();
    }
}
