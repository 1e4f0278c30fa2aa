namespace FastCgi.AspNetCore.Requests;

/// <content>The request as the status shows it. It costs nothing until the status is read.</content>
internal abstract partial class FastCgiRequest
{
    // Clients control this text, which may be as long as all params together.
    private const int MaxPath = 500;
    private const int MaxShortText = 50;

    public RequestDescription Describe(ConnectionScope connection, long now)
    {
        var age = Server.Time.GetElapsedTime(BeganAt, now);
        if (!HasAllParameters)
            return new RequestDescription(Connection.Id, Id, Sequence, string.Empty, string.Empty, null, age, RequestActivity.ReceivingParameters, 0, 0);

        // Without the query, which may contain a secret.
        return new RequestDescription(
            Connection.Id,
            Id,
            Sequence,
            LogText.Clean(_head.Method ?? string.Empty, MaxShortText),
            LogText.Clean(_head.Path ?? string.Empty, MaxPath),
            Parameters.GetVariable("REMOTE_ADDR") is { } client ? LogText.Clean(client, MaxShortText) : null,
            age,
            GetActivity(connection),
            Input.ReceivedLength,
            Response.BytesWritten);
    }

    private RequestActivity GetActivity(ConnectionScope connection) => Place == RequestPlace.Queued ? RequestActivity.Queued
        : Response.Output.IsFlushWaiting(connection) ? RequestActivity.WaitingForClient
        : Input.IsReading ? RequestActivity.WaitingForBody : RequestActivity.Running;
}

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
    string ConnectionId, ushort Id, uint Sequence, string Method, string Path, string? Client, TimeSpan Age, RequestActivity Activity,
    long BytesRead, long BytesWritten);
