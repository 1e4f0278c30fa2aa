namespace FastCgi.AspNetCore.Streams;

/// <summary>A connection, as the status shows it. The age is in seconds.</summary>
internal sealed record ConnectionDescription(
    string Id,
    string Peer,
    int Age,
    string State,
    long Requests,
    int Active,
    long BytesReceived,
    long BytesSent);

/// <summary>A request, as the status shows it. The age is in seconds.</summary>
internal sealed record RequestDescription(
    string Connection,
    ushort Id,
    uint Sequence,
    double Age,
    string Method,
    string Path,
    string? Client,
    string State,
    long BytesRead,
    long BytesWritten);
