namespace FastCgi.AspNetCore.Connections;

/// <summary>What the status shows of a connection.</summary>
/// <param name="Id">Its name in logs.</param>
/// <param name="Peer">The web server's end.</param>
/// <param name="Age">How long it has been open, by the second.</param>
/// <param name="Phase">How far it has come.</param>
/// <param name="RequestCount">The requests that it has carried.</param>
/// <param name="ActiveCount">The requests that are under way.</param>
/// <param name="IsReceivePaused">Whether receiving is paused, because what came is not read or not sent.</param>
/// <param name="BytesReceived">The bytes that were received.</param>
/// <param name="BytesSent">The bytes that were sent.</param>
internal sealed record ConnectionDescription(
    string Id,
    string Peer,
    TimeSpan Age,
    ConnectionPhase Phase,
    long RequestCount,
    int ActiveCount,
    bool IsReceivePaused,
    long BytesReceived,
    long BytesSent);
