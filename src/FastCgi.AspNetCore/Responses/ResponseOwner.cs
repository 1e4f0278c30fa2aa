using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Responses;

/// <summary>What a response needs of the request it answers; a base class, so that references go one way.</summary>
internal abstract class ResponseOwner
{
    /// <summary>The log of the server.</summary>
    public abstract ILogger Log { get; }

    /// <summary>The connection's name in logs.</summary>
    public abstract string ConnectionId { get; }

    /// <summary>The request's name in logs.</summary>
    public abstract string TraceIdentifier { get; }

    /// <summary>The headers of the request, as the web server sent them.</summary>
    public abstract IHeaderDictionary RequestHeaders { get; }

    /// <summary>
    /// Whether the answer may be 200: to an authorizer's request it means that access is allowed, which not every endpoint may say. It
    /// asks the endpoint's metadata, so no lock is held.
    /// </summary>
    public abstract bool CanAnswerOk { get; }

    /// <summary>What went wrong in the application so far, so that its response cannot be what it should.</summary>
    public abstract Exception? ApplicationError { get; }

    /// <summary>Which use of the object this is: it changes when the object is put into the pool.</summary>
    public abstract int Generation { get; }

    /// <summary>
    /// Records an error of the application that it may not see itself. With the lock of the response held, and the generation checked: an
    /// error that comes late is not the next request's.
    /// </summary>
    /// <returns>Logs it. No lock is held when it is called.</returns>
    public abstract Action RecordApplicationError(Exception exception);

    /// <summary>Tells of headers of the application's that are not sent.</summary>
    public abstract void ReportDroppedHeaders(string names);

    /// <summary>Tells of a stream of events, which some web servers hold back.</summary>
    public abstract void ReportEventStream();

    /// <summary>The application has written as much as it declared, or there is no body: the client has, or will have, all it waits for.</summary>
    public abstract void OnAnswered();

    /// <summary>
    /// The response ends: the request leaves the connection's table in the same step. With the locks of the response and of the connection
    /// held.
    /// </summary>
    /// <param name="isComplete">Whether the response is complete, or cut.</param>
    /// <returns>How it ends; <see cref="ResponseEnd.None"/> if the request has left the connection before.</returns>
    public abstract ResponseEnd OnEnding(bool isComplete);

    /// <summary>Ends that use of the request at once, so that the client sees that the response is cut.</summary>
    public abstract void Abort(int generation);
}
