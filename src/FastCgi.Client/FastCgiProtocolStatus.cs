namespace FastCgi.Client;

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
