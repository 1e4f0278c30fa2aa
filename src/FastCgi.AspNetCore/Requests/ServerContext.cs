using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Requests;

/// <summary>What the connections and requests of one server share.</summary>
internal sealed class ServerContext
{
    private readonly uint _roles;

    /// <summary>Makes what a server needs to run an application.</summary>
    public static ServerContext Create<TContext>(
        FastCgiServerOptions options, IHttpApplication<TContext> application, ILogger log, TimeProvider time)
        where TContext : notnull
    {
        var pool = new RequestPool<TContext>(application, options.Transport.LoopCount);
        var safeLog = SafeLogger.Wrap(log);
        var misconfigurations = new Misconfigurations(safeLog, time);
        pool.Server = new ServerContext
        {
            Options = options,
            Mapping = new CgiMapping
            {
                MaxParameterCount = options.Limits.MaxRequestParameterCount,
                PathSource = options.PathSource,
                PathBaseSource = options.PathBaseSource,
                PathBase = options.PathBase,
                RequestHeaderEncodingSelector = options.RequestHeaderEncodingSelector,
                Misconfigurations = misconfigurations,
            },
            Requests = pool,
            Admission = new RequestAdmission(options, time),
            Responses = new ResponseSettings
            {
                AllowSynchronousIO = options.AllowSynchronousIO,
                MaxBufferSize = options.Limits.MaxResponseBufferSize ?? long.MaxValue,
                MaxStandardErrorSize = options.Limits.MaxStandardErrorSize,
                EncodingSelector = options.ResponseHeaderEncodingSelector,
                SendFileOffload = options.SendFile.Roots.Count > 0 ? new SendFileOffload(options.SendFile) : null,
                GetMaxDescriptors = OperatingSystem.IsLinux() ? () => pool.Server.GetMaxDescriptors() : null,
            },
            Log = safeLog,
            Time = time,
            LargeHeads = new LargeHeadReport(time),
            Misconfigurations = misconfigurations,
            Statistics = new RequestStatistics(time),
            FrontEnds = new FrontEnds(time),
            SlowRequests = new SlowRequests(time),
        };
        return pool.Server;
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

    public required RequestPool Requests { get; init; }

    public required ResponseSettings Responses { get; init; }

    public required ILogger Log { get; init; }

    public BufferPool Buffers { get; } = new();

    public required LargeHeadReport LargeHeads { get; init; }

    public required Misconfigurations Misconfigurations { get; init; }

    public ServerCounters Counters { get; } = new();

    public required RequestStatistics Statistics { get; init; }

    /// <summary>Whether somebody measures requests: else the clock of the connections is near enough, which lags by up to a second.</summary>
    public bool NeedsExactTimes => Statistics.IsWatched || Options.SlowRequestThreshold is not null;

    public required FrontEnds FrontEnds { get; init; }

    /// <summary>The requests that web servers gave up.</summary>
    public GivenUpRequests GivenUpRequests { get; } = new();

    public required SlowRequests SlowRequests { get; init; }

    /// <summary>Where records are logged; <see langword="null"/> for nowhere. Set before the first connection.</summary>
    public RecordLog? Records { get; set; }

    public required RequestAdmission Admission { get; init; }

    /// <summary>Executes requests that have waited for their turn; set before the first connection.</summary>
    public RequestRunner Runner { get; set; } = new ThreadPoolRunner();

    /// <summary>How many descriptors the process can have now: prlimit(1) may raise or lower it. Set before the first connection; without a limit till then.</summary>
    public Func<long> GetMaxDescriptors { get; set; } = static () => int.MaxValue;

    /// <summary>How many connections it can have with these, for lack of a limit of its own.</summary>
    public long MaxConnections => OperatingSystem.IsLinux() ? DescriptorHeadroom.CountForConnections(GetMaxDescriptors()) : GetMaxDescriptors();

    public required TimeProvider Time { get; init; }

    /// <returns>0 for a number that is no role.</returns>
    private static uint GetBit(FastCgiRole role) => (uint)role < 32 ? 1u << (int)role : 0;
}
