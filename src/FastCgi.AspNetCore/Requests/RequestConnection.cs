using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.Requests;

/// <summary>What a request needs of the connection it came on; a base class, so that references go one way.</summary>
internal abstract class RequestConnection
{
    /// <summary>The connection's name in logs and in <c>HttpContext.Connection.Id</c>.</summary>
    public abstract string Id { get; }

    /// <summary>The number of the loop that receives from it; 0 with engines that have none.</summary>
    public abstract int Loop { get; }

    /// <summary>The outlet, whose lock guards the connection's side of each request.</summary>
    public abstract RecordOutput Output { get; }

    /// <summary>
    /// The response is about to be queued as ended or cut: the request leaves the table. With the lock held.
    /// </summary>
    /// <returns>How it leaves; <see cref="ResponseEnd.None"/> if it has left before.</returns>
    public abstract ResponseEnd OnRequestEnding(FastCgiRequest request, bool isComplete);

    /// <summary>
    /// Aborts a request, so that the client sees that its response is cut: the connection is reset, or, if other requests live on it,
    /// END_REQUEST tells of the failure.
    /// </summary>
    /// <param name="request">The request.</param>
    /// <param name="generation">Which use of the object is meant.</param>
    /// <param name="reason">What reads fail with.</param>
    /// <returns>Whether this call did it.</returns>
    public abstract bool TryAbort(FastCgiRequest request, int generation, Exception reason);

    /// <summary>Resets the connection.</summary>
    public abstract void Reset();

    /// <summary>The application is done with a request that has left the table.</summary>
    public abstract void OnRequestReleased(FastCgiRequest request);

    /// <summary>The application has read from the body: receiving may go on.</summary>
    public abstract void OnBodyConsumed();
}
