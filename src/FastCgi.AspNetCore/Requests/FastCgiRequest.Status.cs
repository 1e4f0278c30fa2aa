using FastCgi.AspNetCore.Diagnostics;

namespace FastCgi.AspNetCore.Requests;

/// <content>What is shown of the request. Only who looks at the status pays for it.</content>
internal abstract partial class FastCgiRequest
{
    // All of it is a client's, and may be as long as all params together.
    private const int MaxPath = 500;
    private const int MaxShortText = 50;

    public RequestDescription Describe(ConnectionScope connection, long now)
    {
        var age = Server.Time.GetElapsedTime(BeganAt, now);
        if (!HasAllParameters)
            return new RequestDescription(Connection.Id, Id, Sequence, string.Empty, string.Empty, null, age, RequestActivity.ReceivingParameters, 0, 0);

        // The path without the query, in which there may be a secret.
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

    private RequestActivity GetActivity(ConnectionScope connection)
    {
        if (Place == RequestPlace.Queued)
            return RequestActivity.Queued;
        if (Response.Output.IsFlushWaiting(connection))
            return RequestActivity.WaitingForClient;

        return Input.IsReading ? RequestActivity.WaitingForBody : RequestActivity.Running;
    }
}
