namespace FastCgi.AspNetCore.Protocol;

/// <summary>The protocolStatus of END_REQUEST (FastCGI specification, section 5.5).</summary>
internal enum ProtocolStatus : byte
{
    /// <summary>The request completed.</summary>
    RequestComplete = 0,

    /// <summary>A concurrent request on a connection that is not multiplexed.</summary>
    CantMultiplexConnection = 1,

    /// <summary>A resource is exhausted.</summary>
    Overloaded = 2,

    /// <summary>The role is not supported.</summary>
    UnknownRole = 3,
}
