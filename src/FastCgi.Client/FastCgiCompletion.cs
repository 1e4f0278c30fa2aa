namespace FastCgi.Client;

/// <summary>The end of a request: what END_REQUEST said (FastCGI specification, section 5.5), and standard error.</summary>
/// <param name="AppStatus">What a CGI program would have returned from <c>exit</c>; 0 is well.</param>
/// <param name="ProtocolStatus">Whether the request was served, or why it was refused.</param>
/// <param name="StandardError">The application's standard error, as UTF-8; at most <see cref="FastCgiClientOptions.MaxStandardErrorSize"/> bytes.</param>
public sealed record FastCgiCompletion(int AppStatus, FastCgiProtocolStatus ProtocolStatus, string StandardError);

/// <summary>How the application's library ended a request (FastCGI specification, section 5.5).</summary>
public enum FastCgiProtocolStatus
{
    /// <summary>The normal end.</summary>
    RequestComplete = 0,

    /// <summary>A second request on a connection whose server takes one at a time.</summary>
    CantMultiplexConnection = 1,

    /// <summary>The server is out of some resource.</summary>
    Overloaded = 2,

    /// <summary>The server does not serve the role that was asked for.</summary>
    UnknownRole = 3,
}
