using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.Requests;

/// <summary>What a request needs of the connection it came on; a base class, so that references go one way.</summary>
internal abstract class RequestConnection
{
    /// <summary>The connection's name in logs and in <c>HttpContext.Connection.Id</c>.</summary>
    public abstract string Id { get; }

    /// <summary>The outlet, whose lock guards the connection's side of each request.</summary>
    public abstract RecordOutput Output { get; }

    /// <summary>Its END_REQUEST is about to go in the line: the request gives its id up.</summary>
    /// <returns>Whether the connection is closed behind it although the web server means to keep it.</returns>
    public abstract bool OnRequestEnding(FastCgiRequest request);

    /// <summary>Its END_REQUEST is in the line: the connection may have to be closed behind it.</summary>
    public abstract void OnRequestEnded(FastCgiRequest request);

    /// <summary>The application is done with the request.</summary>
    public abstract void OnRequestReleased(FastCgiRequest request);

    /// <summary>The application has read from the body: receiving may go on.</summary>
    public abstract void OnBodyConsumed();

    /// <summary>
    /// Ends a request whose response cannot be completed, so that the client sees that it is cut: the connection is reset, or, if
    /// other requests live on it, END_REQUEST tells of the failure.
    /// </summary>
    public abstract void Cut(FastCgiRequest request);
}
