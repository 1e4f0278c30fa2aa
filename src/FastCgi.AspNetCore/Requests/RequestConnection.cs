using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Requests;

/// <summary>What a request needs of the connection it came on; a base class, so that references go one way.</summary>
internal abstract class RequestConnection
{
    /// <summary>The connection's name in logs and in <c>HttpContext.Connection.Id</c>.</summary>
    public abstract string Id { get; }

    public abstract RecordOutput Output { get; }

    /// <summary>Takes the lock of the connection: of its parser, its table of requests, its lifetime and its outlet.</summary>
    public ConnectionScope EnterLock() => Output.EnterLock();

    /// <summary>
    /// Ends a request, with a complete response or a cut one, in one step: it leaves the table, the ending that suits the connection is
    /// appended, and all of it is queued.
    /// </summary>
    /// <param name="request">The request.</param>
    /// <param name="records">The rest of its response.</param>
    /// <param name="status">What END_REQUEST says; <see langword="null"/> for a response that is cut.</param>
    /// <param name="sends">Whether to collect what is to be sent now.</param>
    public abstract EndedRequest End(FastCgiRequest request, BufferChain records, ProtocolStatus? status, bool sends);

    /// <summary>Aborts a request, so that the client sees that its response is cut, without harm to the other answers of the connection.</summary>
    /// <param name="request">The request.</param>
    /// <param name="reason">What reads fail with.</param>
    /// <returns>Whether this call did it.</returns>
    public abstract bool TryAbort(FastCgiRequest request, Exception reason);

    /// <summary>Has the transport end the connection as its lifetime has decided.</summary>
    public abstract void EndTransport();

    /// <summary>The application of a request that has left the connection has returned; its callbacks, reports and context are still to be done.</summary>
    public abstract void OnApplicationReturned();

    /// <summary>A request whose application has returned needs nothing more of the server.</summary>
    public abstract void OnRequestOver();

    /// <summary>Receives on, if that was paused and nothing stands against it any more: the application has read, or the web server has.</summary>
    public abstract void ResumeReceiving();
}

/// <summary>A request that has left its connection: what is left to do without the locks.</summary>
/// <param name="Connection">The connection; <see langword="null"/> if the request had left it before.</param>
/// <param name="Chain">What to send now.</param>
/// <param name="EndsTransport">Whether the connection ends with it.</param>
internal readonly record struct EndedRequest(RequestConnection? Connection, BufferBlock? Chain, bool EndsTransport)
{
    /// <summary>Sends what was collected.</summary>
    public void Send()
    {
        if (Chain is not null)
            Connection!.Output.SendCollected(Chain);
        if (EndsTransport)
            Connection!.EndTransport();
    }
}
