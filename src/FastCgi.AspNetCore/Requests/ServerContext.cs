namespace FastCgi.AspNetCore.Requests;

/// <summary>What the connections and requests of one server share.</summary>
internal sealed class ServerContext
{
    private readonly uint _roles;

    /// <param name="getMaxDescriptors">Gets the current descriptor limit of the process; <see langword="null"/> for no limit.</param>
    public static ServerContext Create<TContext>(
        FastCgiServerOptions options,
        IHttpApplication<TContext> application,
        ILogger log,
        TimeProvider time,
        Func<ResponseOutput, bool>? trySetDeadline = null,
        RecordLog? records = null,
        Func<long>? getMaxDescriptors = null,
        Advisor? advisor = null,
        IReadOnlyList<string>? statusPaths = null)
        where TContext : notnull
    {
        var clock = new ServerClock(time);
        return new ServerContext
        {
            Options = options,
            CreateRequest = (server, connection, start) => new FastCgiRequest<TContext>(server, application, connection, in start),
            Mapping = new CgiMapping
            {
                MaxParameterCount = options.Limits.MaxRequestParameterCount,
                PathSource = options.PathSource,
                TrustScriptName = options.TrustScriptName,
                PathBase = options.PathBase,
                RequestHeaderEncodingSelector = options.RequestHeaderEncodingSelector,
            },
            Admission = new RequestAdmission(options, clock, statusPaths ?? []),
            SendFileOffload = options.SendFile.Roots.Count > 0 ? new SendFileOffload(options.SendFile) : null,
            TrySetDeadline = trySetDeadline,
            Log = log,
            Time = clock,
            Records = records,
            GetMaxDescriptors = getMaxDescriptors ?? (static () => int.MaxValue),
            Statistics = new RequestStatistics(clock, time),
            Advisor = advisor,
        };
    }

    public required FastCgiServerOptions Options
    {
        get;
        init
        {
            field = value;
            MaxResponseBufferSize = value.Limits.MaxResponseBufferSize ?? long.MaxValue;
            foreach (var role in value.Roles)
                _roles |= GetBit(role);
        }
    }

    public bool IsServed(FastCgiRole role) => (_roles & GetBit(role)) != 0;

    public required CgiMapping Mapping { get; init; }
    public required Func<ServerContext, RequestConnection, RequestStart, FastCgiRequest> CreateRequest { get; init; }

    /// <summary>How many bytes of a response may be queued before a write waits.</summary>
    public long MaxResponseBufferSize { get; private init; }

    /// <summary>Schedules <see cref="ResponseOutput.Uncork"/> in milliseconds; if it cannot or is <see langword="null"/>, nothing may be held.</summary>
    public required Func<ResponseOutput, bool>? TrySetDeadline { get; init; }
    public required SendFileOffload? SendFileOffload { get; init; }
    public required ILogger Log { get; init; }
    public BufferPool Buffers { get; } = new();
    public ServerCounters Counters { get; } = new();
    public required RequestStatistics Statistics { get; init; }

    /// <summary>Whether the age of requests matters. Otherwise the time of the last tick is enough.</summary>
    public bool NeedsExactTimes => Statistics.IsWatched || Advisor is not null;

    /// <summary>Called only through <see cref="Advise"/>; <see langword="null"/> if advice is off.</summary>
    public required Advisor? Advisor { get; init; }

    /// <summary>Calls the advisor, if any. Its exceptions are logged and ignored.</summary>
    public void Advise<T>(T subject, Action<Advisor, T> advise)
    {
        LockOrder.RequireNone(nameof(Advisor));
        if (Advisor is { } advisor)
            ThreadRoot.Run((advisor, subject, advise), static call => call.advise(call.advisor, call.subject), Log);
    }

    public required RecordLog? Records { get; init; }
    public required RequestAdmission Admission { get; init; }

    /// <summary>Gets the current descriptor limit of the process, which prlimit(1) may change.</summary>
    public required Func<long> GetMaxDescriptors { get; init; }

    /// <summary>The limit of connections that follows from the descriptors.</summary>
    public long MaxConnections => OperatingSystem.IsLinux() ? DescriptorHeadroom.CountForConnections(GetMaxDescriptors()) : GetMaxDescriptors();
    public required ServerClock Time { get; init; }

    /// <returns>0 if the number is not a role.</returns>
    private static uint GetBit(FastCgiRole role) => role is FastCgiRole.Responder or FastCgiRole.Authorizer ? 1u << (int)role : 0;
}
