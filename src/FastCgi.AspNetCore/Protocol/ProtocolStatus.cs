namespace FastCgi.AspNetCore.Protocol;

/// <summary>The protocolStatus of END_REQUEST (FastCGI specification, section 5.5).</summary>
internal enum ProtocolStatus : byte
{
    RequestComplete = 0,

    /// <summary>A concurrent request on a connection that is not multiplexed.</summary>
    CantMultiplexConnection = 1,

    Overloaded = 2,

    UnknownRole = 3,
}
