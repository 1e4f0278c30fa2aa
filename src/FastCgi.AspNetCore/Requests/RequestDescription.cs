namespace FastCgi.AspNetCore.Requests;

/// <summary>What a request is doing.</summary>
internal enum RequestActivity : byte
{
    /// <summary>Its params are on their way.</summary>
    ReceivingParameters,

    /// <summary>It waits because MaxConcurrentRequests are under way.</summary>
    Queued,

    /// <summary>The application works on it, or waits for something of its own.</summary>
    Running,

    /// <summary>The application waits for more of the body.</summary>
    WaitingForBody,

    /// <summary>The application waits until the web server takes what it has written.</summary>
    WaitingForClient,
}

/// <summary>What a request is doing, as text.</summary>
internal static class RequestActivities
{
    /// <summary>Says it in a few words.</summary>
    public static string GetText(this RequestActivity activity) => activity switch
    {
        RequestActivity.ReceivingParameters => "receiving parameters",
        RequestActivity.Queued => "in the queue",
        RequestActivity.WaitingForBody => "waiting for the body",
        RequestActivity.WaitingForClient => "waiting for the web server to take the answer",
        _ => "in the application",
    };
}

/// <summary>What the status shows of a request.</summary>
/// <param name="ConnectionId">The name of its connection.</param>
/// <param name="Id">Its id on the connection.</param>
/// <param name="Sequence">Which request of the connection it is.</param>
/// <param name="Method">The method.</param>
/// <param name="Path">The path, without the query.</param>
/// <param name="Client">The client's address.</param>
/// <param name="Age">How long ago it began.</param>
/// <param name="Activity">What it is doing.</param>
/// <param name="BytesRead">The bytes of the body that have come.</param>
/// <param name="BytesWritten">The bytes that the application has written.</param>
internal sealed record RequestDescription(
    string ConnectionId, ushort Id, uint Sequence, string Method, string Path, string? Client, TimeSpan Age, RequestActivity Activity, long BytesRead, long BytesWritten);
