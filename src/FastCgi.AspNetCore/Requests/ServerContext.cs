namespace FastCgi.AspNetCore.Requests;

/// <summary>The state that the requests of a server share with each other and with its connections.</summary>
internal sealed class ServerContext : StreamContext
{
    public required CgiMapping Mapping { get; init; }

    /// <summary>Schedules the send of a held flush. If it is null or fails, output must not be held.</summary>
    public Func<FastCgiResponse, bool>? TrySetDeadline { get; init; }

    public required SendFileOffload? SendFileOffload { get; init; }
    public required RequestAdmission Admission { get; init; }

    /// <summary>Called only through <see cref="Advise"/>; <see langword="null"/> if advice is off.</summary>
    public required Advisor? Advisor { get; init; }

    /// <param name="getMaxDescriptors">Gets the current limit; <see langword="null"/> if there is none.</param>
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
    {
        var clock = new ServerClock(time);
        getMaxDescriptors ??= static () => int.MaxValue;
        var admission = new RequestAdmission(options, clock, statusPaths ?? []);
        ServerContext server = null!;
        return server = new ServerContext
        {
            Options = options,
            CreateStream = (connection, start) => new FastCgiRequest<TContext>(
                server, application, connection, in start),
            OtherProtocolFound = (protocol, peer) => server.Advise(
                (protocol, peer), static (advisor, other) => advisor.OnOtherProtocol(other.protocol, other.peer)),
            RoleRefused = role => server.Advise(role, static (advisor, role) => advisor.OnRoleNotServed(role)),
            Mapping = new CgiMapping
            {
                MaxParameterCount = options.Limits.MaxRequestParameterCount,
                PathSource = options.PathSource,
                TrustScriptName = options.TrustScriptName,
                PathBase = options.PathBase,
                RequestHeaderEncodingSelector = options.RequestHeaderEncodingSelector,
            },
            Admission = admission,
            OnTick = admission.EndOverdue,
            SendFileOffload = options.SendFile.Roots.Count > 0 ? new SendFileOffload(options.SendFile) : null,
            TrySetDeadline = trySetDeadline,
            Log = log,
            Time = clock,
            GetMaxDescriptors = getMaxDescriptors,
            Statistics = new RequestStatistics(clock, time),
            Advisor = advisor,
        };
    }

    /// <summary>Calls the advisor, if any. Its exceptions are logged and ignored.</summary>
    public void Advise<T>(T subject, Action<Advisor, T> advise)
    {
        HeldLock.RequireNone(nameof(Advisor));
        if (Advisor is { } advisor)
            ThreadRoot.Run((advisor, subject, advise), static call => call.advise(call.advisor, call.subject), Log);
    }
}
