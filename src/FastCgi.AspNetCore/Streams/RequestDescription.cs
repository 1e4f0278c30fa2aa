namespace FastCgi.AspNetCore.Streams;

internal static class RequestActivity
{
    public const string ReceivingParameters = "receiving parameters";
    public const string Queued = "in the queue";
    public const string Running = "in the application";
    public const string WaitingForBody = "waiting for the body";
    public const string WaitingForClient = "waiting for the web server to accept the response";
}

internal sealed record RequestDescription(
    string ConnectionId,
    ushort Id,
    uint Sequence,
    string Method,
    string Path,
    string? Client,
    TimeSpan Age,
    string Activity,
    long BytesRead,
    long BytesWritten);
