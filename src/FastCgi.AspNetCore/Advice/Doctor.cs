namespace FastCgi.AspNetCore.Advice;

/// <summary>Checks web servers and the process. <see cref="OperatorAdvisor"/> checks single requests.</summary>
internal sealed class Doctor(
    ConnectionManager connections, RequestScheduler scheduler, OperatorAdvisor advisor, EventJournal journal,
    TimeProvider time) : IDisposable
{
    public static readonly TimeSpan Interval = TimeSpan.FromSeconds(10);

    // Connections per second above which keep-alive is worthwhile.
    private const double ManyConnections = 20;

    // The wait in seconds, at this many checks in a row. A pool that is merely busy handles work in milliseconds.
    private const double MaxPoolWait = 1;
    private const int MinPoolWaiting = 10;
    private const int MaxStarvedChecks = 2;
    private const double ManyHandOvers = 20;

    private const double DescriptorsInUse = 0.8;

    // Clients may try without credentials first.
    private const int MinChallenges = 3;

    private readonly ILogger _log = journal;
    private readonly Dictionary<string, FrontEnd> _frontEnds = new(StringComparer.Ordinal);
    private readonly Dictionary<string, LogThrottle> _findings = [];
    private Totals _totals;
    private long _handOvers;
    private long _completedWork;
    private long _givenUp;
    private (long At, TimeSpan Age)? _lastGivenUp;
    private long _lastCheck = time.GetTimestamp();
    private int _starvedChecks;
    private bool _areDescriptorsScarce;
    private IDisposable? _checks;

    /// <summary>mod_fcgid, which starts the process, cannot keep connections open.</summary>
    public bool IsSpawned { get; init; }

    // Tests replace these counters of the process.
    public Func<(long Waiting, long Completed)> CountWork { get; init; } =
        static () => (ThreadPool.PendingWorkItemCount, ThreadPool.CompletedWorkItemCount);
    public Func<long> CountHandOvers { get; init; } = () => scheduler.Watchdog.HandOverCount;
    public Func<long?> CountDescriptors { get; init; } =
        static () => OperatingSystem.IsLinux() ? Descriptors.Count() : null;

    /// <summary>Checks on a separate thread, because log providers may block.</summary>
    public void Start()
        => _checks = ThreadRoot.Repeat("FastCgi doctor", time, this, static doctor => doctor.Check(), Interval, _log);

    public void Dispose() => _checks?.Dispose();

    public void Check()
    {
        var now = time.GetTimestamp();
        var seconds = Math.Max(1, time.GetElapsedTime(_lastCheck, now).TotalSeconds);
        _lastCheck = now;
        var totals = connections.GetTotals();
        var opened = totals.Connections - _totals.Connections;
        // If most requests use an open connection, no web server that matters opens one for each.
        var areKept = totals.Requests - _totals.Requests >= 2 * opened;
        _totals = totals;

        CheckFrontEnds(areKept ? 0 : opened / seconds);
        CheckResponses();
        CheckGivenUpRequests();
        CheckThreads(seconds);
        CheckDescriptors();
    }

    private void CheckFrontEnds(double connectionRate)
    {
        var seen = new List<FrontEnd>();
        foreach (var frontEnd in advisor.FrontEnds.GetAll())
        {
            var recent = frontEnd.Since(_frontEnds.GetValueOrDefault(frontEnd.Software));
            if (recent.Samples > 0)
                seen.Add(recent);
            _frontEnds[frontEnd.Software] = frontEnd;
        }

        if (seen.Count == 0)
            return;

        Judge(nameof(FastCgiLog.SchemeNotPassed), seen.Find(static one => one.WithoutScheme > 0),
            one => _log.SchemeNotPassed(
                one.Software, one.WithoutScheme, one.Samples, FrontEndLines.Scheme(one.Software)));
        Judge(nameof(FastCgiLog.HostNotPassed), seen.Find(static one => one.WithoutHost > 0),
            one => _log.HostNotPassed(
                one.Software, one.WithoutHost, one.Samples, FrontEndLines.Host(one.Software)));

        // Only web servers that support keep-alive: a single request of a tool means nothing. Each sample is a new
        // connection, so a web server's share of the samples is its share of the new connections.
        var samples = seen.Sum(static one => one.Samples);
        var spender = seen.Where(static one => one.KeepConnection == 0)
            .Where(static one => FrontEndLines.KeptConnections(one.Software) is not null)
            .MaxBy(static one => one.Samples);
        var rate = connectionRate * (spender?.Samples ?? 0) / samples;
        Judge(nameof(FastCgiLog.ConnectionsNotKept), IsSpawned || rate < ManyConnections ? null : spender,
            one => _log.ConnectionsNotKept(one.Software, rate, FrontEndLines.KeptConnections(one.Software)!));
    }

    private void CheckResponses()
    {
        var dropping = advisor.FrontEnds.GetAll()
            .FirstOrDefault(static frontEnd => frontEnd is { Challenges: >= MinChallenges, PassesAuthorization: false }
                && FrontEndLines.Authorization(frontEnd.Software) is not null);
        Judge(nameof(FastCgiLog.AuthorizationAbsent), dropping,
            one => _log.AuthorizationAbsent(one.Software, FrontEndLines.Authorization(one.Software)!));
        Judge(nameof(FastCgiLog.PathBaseMissing), advisor.UnmappedPaths.FindPathBase(),
            pathBase => _log.PathBaseMissing(LogText.Clean(pathBase, OperatorAdvisor.MaxPath)));
    }

    private void CheckGivenUpRequests()
    {
        var found = advisor.GivenUpRequests.FindTimeout(ref _givenUp);
        // The next request takes as long as the timeout to be aborted, so the previous finding may still hold.
        if (found is null && _lastGivenUp is { } last && time.GetElapsedTime(last.At) < last.Age * 2)
            return;

        _lastGivenUp = found is { } one ? (time.GetTimestamp(), one.Age) : null;
        Judge(nameof(FastCgiLog.RequestsGivenUp), found is not null, () => _log.RequestsGivenUp(
            GivenUpRequests.MinCount, found!.Value.Age.TotalSeconds, found.Value.WebServer ?? "the web server",
            FrontEndLines.ReadTimeout(found.Value.WebServer)));
    }

    private void CheckThreads(double seconds)
    {
        var (waiting, completed) = CountWork();
        var isStarved = waiting >= MinPoolWaiting && waiting > (completed - _completedWork) / seconds * MaxPoolWait;
        _completedWork = completed;
        _starvedChecks = isStarved ? _starvedChecks + 1 : 0;
        Judge(nameof(FastCgiLog.ThreadPoolStarved), _starvedChecks >= MaxStarvedChecks,
            () => _log.ThreadPoolStarved(
                waiting, (int)(_starvedChecks * Interval.TotalSeconds), Math.Max(100, 2 * ThreadPool.ThreadCount)));

        var handOvers = CountHandOvers();
        var rate = (handOvers - _handOvers) / seconds;
        _handOvers = handOvers;
        Judge(nameof(FastCgiLog.HandOversTooFrequent), rate >= ManyHandOvers, () => _log.HandOversTooFrequent(rate));
    }

    private void CheckDescriptors()
    {
        var limit = connections.Server.GetMaxDescriptors();
        // Counting may take a call per descriptor.
        if (!OperatingSystem.IsLinux() || (connections.Count < limit / 4 && !_areDescriptorsScarce))
            return;

        var count = CountDescriptors() ?? limit;
        _areDescriptorsScarce = count > limit * DescriptorsInUse;
        Judge(nameof(FastCgiLog.DescriptorsNearLimit), _areDescriptorsScarce,
            () => _log.DescriptorsNearLimit(count, limit));
    }

    private void Judge<T>(string name, T? wrong, Action<T> report)
        where T : class
        => Judge(name, wrong is not null, () => report(wrong!));

    /// <summary>Reports a problem once, confirms it while it lasts, and forgets it when it has cleared.</summary>
    private void Judge(string name, bool isWrong, Action report)
    {
        var finding = CollectionsMarshal.GetValueRefOrAddDefault(_findings, name, out _) ??= LogThrottle.Once(time);
        if (!isWrong && finding.Reset())
            journal.Forget(name);
        else if (isWrong && finding.TryAcquire(out _))
            report();
        else if (isWrong)
            journal.Confirm(name);
    }
}
