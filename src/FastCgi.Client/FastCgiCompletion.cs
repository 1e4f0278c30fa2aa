namespace FastCgi.Client;

/// <summary>Represents the result of a request: the fields of END_REQUEST, and standard error.</summary>
/// <param name="AppStatus">The exit code that a CGI program would have returned; 0 means success.</param>
/// <param name="ProtocolStatus">Whether the request was served, or why it was refused.</param>
/// <param name="StandardError">
/// The application's standard error, as UTF-8; at most <see cref="FastCgiClientOptions.MaxStandardErrorSize"/> bytes.
/// </param>
public sealed record FastCgiCompletion(int AppStatus, FastCgiProtocolStatus ProtocolStatus, string StandardError);

/// <summary>Specifies how the server ended a request (FastCGI specification, section 5.5).</summary>
public enum FastCgiProtocolStatus
{
    /// <summary>The request is complete.</summary>
    RequestComplete = 0,

    /// <summary>Refused: the server accepts only one request at a time on a connection.</summary>
    CantMultiplexConnection = 1,

    /// <summary>Refused: the server has run out of a resource.</summary>
    Overloaded = 2,

    /// <summary>Refused: the server does not serve the requested role.</summary>
    UnknownRole = 3,
}
