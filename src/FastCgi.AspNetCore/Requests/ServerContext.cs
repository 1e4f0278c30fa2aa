using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Requests;

/// <summary>What the connections and requests of one server share.</summary>
internal sealed class ServerContext
{
    private readonly uint _roles;

    /// <summary>Makes what a server needs to run an application.</summary>
    /// <param name="options">The options.</param>
    /// <param name="application">The application.</param>
    /// <param name="log">The log of the server.</param>
    /// <param name="runner">Executes requests that have waited for their turn.</param>
    /// <param name="trySetDeadline">See <see cref="ResponseSettings.TrySetDeadline"/>.</param>
    /// <param name="records">Where records are logged; <see langword="null"/> for nowhere.</param>
    /// <param name="getMaxDescriptors">How many descriptors the process can have now; <see langword="null"/> for any number.</param>
    /// <param name="advisor">Who tells the operator what to fix; <see langword="null"/> for nobody.</param>
    /// <param name="statusPaths">The paths that show the status.</param>
    public static ServerContext Create<TContext>(
        FastCgiServerOptions options,
        IHttpApplication<TContext> application,
        ILogger log,
        TimeProvider time,
        RequestRunner runner,
        Func<ResponseOutput, bool>? trySetDeadline = null,
        RecordLog? records = null,
        Func<long>? getMaxDescriptors = null,
        Advisor? advisor = null,
        IEnumerable<string>? statusPaths = null)
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
            Responses = new ResponseSettings
            {
                AllowSynchronousIO = options.AllowSynchronousIO,
                MaxBufferSize = options.Limits.MaxResponseBufferSize ?? long.MaxValue,
                MaxStandardErrorSize = options.Limits.MaxStandardErrorSize,
                EncodingSelector = options.ResponseHeaderEncodingSelector,
                SendFileOffload = options.SendFile.Roots.Count > 0 ? new SendFileOffload(options.SendFile) : null,
                GetMaxDescriptors = OperatingSystem.IsLinux() ? getMaxDescriptors : null,
                TrySetDeadline = trySetDeadline,
            },
            Log = log,
            Time = clock,
            Runner = runner,
            Records = records,
            GetMaxDescriptors = getMaxDescriptors ?? (static () => int.MaxValue),
            Statistics = new RequestStatistics(clock),
            Advisor = advisor,
        };
    }

    public required FastCgiServerOptions Options
    {
        get;
        init
        {
            field = value;
            foreach (var role in value.Roles)
                _roles |= GetBit(role);
        }
    }

    /// <summary>Whether requests of a role are served.</summary>
    public bool IsServed(FastCgiRole role) => (_roles & GetBit(role)) != 0;

    public required CgiMapping Mapping { get; init; }

    public required Func<ServerContext, RequestConnection, RequestStart, FastCgiRequest> CreateRequest { get; init; }

    public required ResponseSettings Responses { get; init; }

    public required ILogger Log { get; init; }

    public BufferPool Buffers { get; } = new();

    public ServerCounters Counters { get; } = new();

    public required RequestStatistics Statistics { get; init; }

    /// <summary>Whether somebody measures requests: else the clock of the connections is near enough, which lags by up to a second.</summary>
    public bool NeedsExactTimes => Statistics.IsWatched || (Advisor is not null && Options.SlowRequestThreshold is not null);

    /// <summary>Who tells the operator what to fix; <see langword="null"/> for nobody. Called through <see cref="Advise"/> only.</summary>
    public required Advisor? Advisor { get; init; }

    /// <summary>Asks for advice, if there is somebody to give it. What that throws is logged, and reaches nobody.</summary>
    public void Advise<T>(T subject, Action<Advisor, T> advise)
    {
        LockOrder.RequireNone(nameof(Advisor));
        if (Advisor is not { } advisor)
            return;

        try
        {
            advise(advisor, subject);
        }
        catch (Exception exception)
        {
            Log.ServerFailed(exception);
        }
    }

    /// <summary>Where records are logged; <see langword="null"/> for nowhere.</summary>
    public required RecordLog? Records { get; init; }

    public required RequestAdmission Admission { get; init; }

    /// <summary>Executes requests that have waited for their turn.</summary>
    public required RequestRunner Runner { get; init; }

    /// <summary>How many descriptors the process can have now: prlimit(1) may raise or lower it.</summary>
    public required Func<long> GetMaxDescriptors { get; init; }

    /// <summary>How many connections it can have with these, for lack of a limit of its own.</summary>
    public long MaxConnections => OperatingSystem.IsLinux() ? DescriptorHeadroom.CountForConnections(GetMaxDescriptors()) : GetMaxDescriptors();

    public required ServerClock Time { get; init; }

    /// <returns>0 for a number that is no role.</returns>
    private static uint GetBit(FastCgiRole role) => (uint)role < 32 ? 1u << (int)role : 0;
}
