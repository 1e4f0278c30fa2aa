namespace FastCgi.AspNetCore.Requests;

/// <content>The request as the status shows it. It costs nothing until the status is read.</content>
internal abstract partial class FastCgiRequest
{
    // Clients control this text, which may be as long as all params together.
    private const int MaxPath = 500;
    private const int MaxShortText = 50;

    public override RequestDescription Describe(ConnectionScope scope, long now)
    {
        var age = Server.Time.GetElapsedTime(BeganAt, now);
        if (!HasAllParameters)
            return new RequestDescription(
                Connection.Id, Id, Sequence, string.Empty, string.Empty, null, age,
                RequestActivity.ReceivingParameters, 0, 0);

        // Without the query, which may contain a secret.
        return new RequestDescription(
            Connection.Id,
            Id,
            Sequence,
            LogText.Clean(_head.Method ?? string.Empty, MaxShortText),
            LogText.Clean(_head.Path ?? string.Empty, MaxPath),
            Parameters.GetVariable("REMOTE_ADDR") is { } client ? LogText.Clean(client, MaxShortText) : null,
            age,
            GetActivity(scope),
            ReceivedBodyLength,
            Response.BytesWritten);
    }

    public override void OnSlow(RequestDescription description, ref ReadyRequests ready)
        => ready.Report(() => Server.Advise(description, static (advisor, slow) => advisor.OnSlow(slow)));

    private RequestActivity GetActivity(ConnectionScope scope)
    {
        if (Slot == RequestSlot.Queued)
            return RequestActivity.Queued;
        if (IsFlushWaiting(scope))
            return RequestActivity.WaitingForClient;

        return Body is { IsReading: true } ? RequestActivity.WaitingForBody : RequestActivity.Running;
    }
}
