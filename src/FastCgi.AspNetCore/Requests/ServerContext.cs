namespace FastCgi.AspNetCore.Requests;

/// <summary>The state that the requests of a server share with each other and with its connections.</summary>
internal sealed class ServerContext : StreamContext
{
    public required CgiMapping Mapping { get; init; }

    /// <summary>Schedules the send of a held flush. If it is null or fails, output must not be held.</summary>
    public Func<RequestStream, bool>? TrySetDeadline { get; init; }

    public required SendFileOffload? SendFileOffload { get; init; }
    public required RequestAdmission Admission { get; init; }

    /// <summary>Called only through <see cref="Advise"/>; <see langword="null"/> if advice is off.</summary>
    public required Advisor? Advisor { get; init; }

    /// <summary>Calls the advisor, if any. Its exceptions are logged and ignored.</summary>
    public void Advise<T>(T subject, Action<Advisor, T> advise)
    {
        HeldLock.RequireNone(nameof(Advisor));
        if (Advisor is { } advisor)
            ThreadRoot.Run((advisor, subject, advise), static call => call.advise(call.advisor, call.subject), Log);
    }
}
