namespace FastCgi.AspNetCore.Requests;

/// <content>What is shown of the request. Only who looks at the status pays for it.</content>
internal abstract partial class FastCgiRequest
{
    /// <summary>Describes the request. With the lock of the connection held, while it is in the table.</summary>
    /// <param name="now">The time.</param>
    public RequestDescription Describe(long now)
    {
        var age = Server.Time.GetElapsedTime(BeganAt, now);
        if (!HasAllParameters)
            return new RequestDescription(Id, _sequence, string.Empty, string.Empty, null, age, RequestActivity.ReceivingParameters, 0, 0);

        // The path without the query, in which there may be a secret.
        return new RequestDescription(
            Id, _sequence, _head.Method ?? string.Empty, _head.Path ?? string.Empty, GetVariable("REMOTE_ADDR"), age, GetActivity(), Input.ReceivedLength, Response.BytesWritten);
    }

    private RequestActivity GetActivity()
    {
        if (Place == RequestPlace.Queued)
            return RequestActivity.Queued;
        if (Response.Output.IsFlushWaiting)
            return RequestActivity.WaitingForClient;

        return Input.IsReading ? RequestActivity.WaitingForBody : RequestActivity.Running;
    }
}
