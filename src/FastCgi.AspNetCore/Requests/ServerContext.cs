namespace FastCgi.AspNetCore.Requests;

internal sealed class ServerContext(
    FastCgiServerOptions options,
    ILogger log,
    ServerClock clock,
    Func<long>? getMaxDescriptors,
    IReadOnlyList<string> statusPaths,
    Func<ServerContext, FastCgiConnection, RequestStart, FastCgiRequest> createRequest)
    : StreamContext(options, log, clock, getMaxDescriptors)
{
    public CgiMapping Mapping { get; } = new(options);

    public RequestAdmission Admission { get; } = new(options, clock, statusPaths);

    public SendFileOffload? SendFileOffload { get; } =
        options.SendFile.Roots.Count > 0 ? new SendFileOffload(options.SendFile) : null;

    /// <summary>Schedules the send of a held flush. If it is null or fails, output must not be held.</summary>
    public Func<FastCgiResponse, bool>? TrySetDeadline { get; init; }

    /// <summary>Called only through <see cref="Advise"/>; <see langword="null"/> if advice is off.</summary>
    public Advisor? Advisor { get; init; }

    public static ServerContext Create<TContext>(
        FastCgiServerOptions options,
        IHttpApplication<TContext> application,
        ILogger log,
        TimeProvider time,
        Func<FastCgiResponse, bool>? trySetDeadline = null,
        Func<long>? getMaxDescriptors = null,
        Advisor? advisor = null,
        IReadOnlyList<string>? statusPaths = null)
        where TContext : notnull
        => new(
            options, log, new ServerClock(time), getMaxDescriptors, statusPaths ?? [],
            (server, connection, start) => new FastCgiRequest<TContext>(server, application, connection, in start))
        {
            TrySetDeadline = trySetDeadline,
            Advisor = advisor,
        };

    public override RequestStream CreateStream(FastCgiConnection connection, RequestStart start)
        => createRequest(this, connection, start);

    public override void OnOtherProtocol(string protocol, Func<string> describePeer)
        => Advise(
            (protocol, describePeer),
            static (advisor, other) => advisor.OnOtherProtocol(other.protocol, other.describePeer));

    public override void OnRoleRefused(FastCgiRole role)
        => Advise(role, static (advisor, role) => advisor.OnRoleNotServed(role));

    public override void OnTick() => Admission.EndOverdue();

    /// <summary>Calls the advisor, if any. Its exceptions are logged and ignored.</summary>
    public void Advise<T>(T subject, Action<Advisor, T> advise)
    {
        Invariants.RequireNoLock(nameof(Advisor));
        if (Advisor is { } advisor)
            ThreadRoot.Run((advisor, subject, advise), static call => call.advise(call.advisor, call.subject), Log);
    }
}
