namespace FastCgi.AspNetCore.Streams;

internal enum RequestActivity : byte
{
    ReceivingParameters,
    Queued,
    Running,
    WaitingForBody,
    WaitingForClient,
}

internal static class RequestActivities
{
    public static string GetText(this RequestActivity activity) => activity switch
    {
        RequestActivity.ReceivingParameters => "receiving parameters",
        RequestActivity.Queued => "in the queue",
        RequestActivity.WaitingForBody => "waiting for the body",
        RequestActivity.WaitingForClient => "waiting for the web server to accept the response",
        _ => "in the application",
    };
}

/// <summary>A request as the status shows it.</summary>
internal sealed record RequestDescription(
    string ConnectionId,
    ushort Id,
    uint Sequence,
    string Method,
    string Path,
    string? Client,
    TimeSpan Age,
    RequestActivity Activity,
    long BytesRead,
    long BytesWritten);
