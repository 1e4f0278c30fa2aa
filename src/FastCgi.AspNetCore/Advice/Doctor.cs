namespace FastCgi.AspNetCore.Advice;

/// <summary>
/// Checks every ten seconds what web servers pass and the state of the process, and reports once what the operator can
/// improve; when a problem has cleared, the status no longer shows it. <see cref="OperatorAdvisor"/> reports what a
/// single request shows.
/// </summary>
internal sealed class Doctor(
    ConnectionManager connections, RequestScheduler scheduler, OperatorAdvisor advisor, EventJournal journal,
    TimeProvider time,
    DoctorOverrides overrides = default)
    : IDisposable
{
    public static readonly TimeSpan Interval = TimeSpan.FromSeconds(10);

    // Connections per second at which keep-alive pays.
    private const double ManyConnections = 20;

    // In seconds, at this many checks in a row. A pool that is merely busy handles waiting work within milliseconds.
    private const double MaxPoolWait = 1;
    private const int MinPoolWaiting = 10;
    private const int MaxStarvedChecks = 2;
    private const double ManyHandOvers = 20;

    private const double DescriptorsInUse = 0.8;

    // Clients may try without credentials first.
    private const int MinChallenges = 3;

    private readonly Func<ThreadPoolWork> _threadPool =
        overrides.ThreadPool ?? (static () => new(ThreadPool.PendingWorkItemCount, ThreadPool.CompletedWorkItemCount));
    private readonly Func<long> _countHandOvers = overrides.HandOvers ?? (() => scheduler.Watchdog.HandOverCount);
    private readonly Func<long?> _countDescriptors =
        overrides.Descriptors ?? (static () => OperatingSystem.IsLinux() ? Descriptors.Count() : null);
    private readonly ILogger _log = SafeLogger.Wrap(journal);
    private readonly Dictionary<string, FrontEnd> _frontEnds = new(StringComparer.Ordinal);
    private readonly Dictionary<int, LogThrottle> _findings = [];
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

    /// <summary>Checks on a thread of its own, which a log provider may block.</summary>
    public void Start()
        => _checks = ThreadRoot.Repeat("FastCgi doctor", time, this, static doctor => doctor.Check(), Interval, _log);

    public void Dispose() => _checks?.Dispose();

    public void Check()
    {
        var now = time.GetTimestamp();
        var seconds = Math.Max(1, time.GetElapsedTime(_lastCheck, now).TotalSeconds);
        _lastCheck = now;
        var totals = connections.GetTotals();
        var connectionRate = (totals.Connections - _totals.Connections) / seconds;
        _totals = totals;

        CheckFrontEnds(connectionRate);
        CheckAnswers();
        CheckGivenUpRequests();
        CheckThreads(seconds);
        CheckDescriptors();
    }

    private void CheckFrontEnds(double connectionRate)
    {
        var all = advisor.FrontEnds.GetAll()
            .Select(frontEnd => (Now: frontEnd, Before: _frontEnds.GetValueOrDefault(frontEnd.Software))).ToList();
        var seen = all.Where(static pair => pair.Now.Samples > (pair.Before?.Samples ?? 0)).ToList();
        foreach (var (frontEnd, _) in all)
            _frontEnds[frontEnd.Software] = frontEnd;
        if (seen.Count == 0)
            return;

        Judge(FastCgiLog.SchemeNotPassedId, seen, static frontEnd => frontEnd.LackingScheme,
            (frontEnd, count, samples) => _log.SchemeNotPassed(
                frontEnd.Software, count, samples, FrontEndLines.Scheme(frontEnd.Software)));
        Judge(FastCgiLog.HostNotPassedId, seen, static frontEnd => frontEnd.LackingHost,
            (frontEnd, count, samples) => _log.HostNotPassed(
                frontEnd.Software, count, samples, FrontEndLines.Host(frontEnd.Software)));

        // Only web servers that support keep-alive: a single request of a tool means nothing. One request per second is
        // sampled, so a web server's share of the sampled requests without keep-alive is its share of the new
        // connections.
        var unkept = Math.Max(1, seen.Sum(static pair => CountUnkept(pair.Now, pair.Before)));
        var (spender, rate) = seen
            .Where(
                static pair => FrontEndLines.KeptConnections(pair.Now.Software) is not null
                    && pair.Now.Kept == (pair.Before?.Kept ?? 0))
            .Select(pair => (pair.Now, Rate: connectionRate * CountUnkept(pair.Now, pair.Before) / unkept))
            .OrderByDescending(static pair => pair.Rate)
            .FirstOrDefault();
        Judge(FastCgiLog.ConnectionsNotKeptId, spender is not null && !IsSpawned && rate >= ManyConnections,
            () => _log.ConnectionsNotKept(spender!.Software, rate, FrontEndLines.KeptConnections(spender.Software)!));
    }

    private void CheckAnswers()
    {
        var dropping = advisor.FrontEnds.GetAll()
            .FirstOrDefault(static frontEnd => frontEnd is { Challenges: >= MinChallenges, PassesAuthorization: false }
            && FrontEndLines.Authorization(frontEnd.Software) is not null)?.Software;
        Judge(
            FastCgiLog.AuthorizationAbsentId, dropping is not null, () => _log.AuthorizationAbsent(
                dropping!, FrontEndLines.Authorization(dropping!)!));

        var pathBase = advisor.UnmappedPaths.FindPathBase();
        Judge(
            FastCgiLog.PathBaseMissingId, pathBase is not null, () => _log.PathBaseMissing(
                LogText.Clean(pathBase!, OperatorAdvisor.MaxPath)));
    }

    private static long CountUnkept(FrontEnd now, FrontEnd? before)
        => now.Samples - now.Kept - ((before?.Samples ?? 0) - (before?.Kept ?? 0));

    private void CheckGivenUpRequests()
    {
        var found = advisor.GivenUpRequests.FindTimeout(ref _givenUp);
        // The next request takes as long as the timeout to be aborted, so the previous finding may still hold.
        if (found is null && _lastGivenUp is { } last && time.GetElapsedTime(last.At) < last.Age * 2)
            return;

        _lastGivenUp = found is { } one ? (time.GetTimestamp(), one.Age) : null;
        Judge(FastCgiLog.RequestsGivenUpId, found is not null, () => _log.RequestsGivenUp(
            GivenUpRequests.MinCount, found!.Value.Age.TotalSeconds, found.Value.WebServer ?? "the web server",
                FrontEndLines.ReadTimeout(found.Value.WebServer)));
    }

    private void CheckThreads(double seconds)
    {
        var (waiting, completed) = _threadPool();
        var isStarved = waiting >= MinPoolWaiting && waiting > (completed - _completedWork) / seconds * MaxPoolWait;
        _completedWork = completed;
        _starvedChecks = isStarved ? _starvedChecks + 1 : 0;
        Judge(FastCgiLog.ThreadPoolStarvedId, _starvedChecks >= MaxStarvedChecks,
            () => _log.ThreadPoolStarved(
                waiting, (int)(_starvedChecks * Interval.TotalSeconds), Math.Max(100, 2 * ThreadPool.ThreadCount)));

        var handOvers = _countHandOvers();
        var rate = (handOvers - _handOvers) / seconds;
        _handOvers = handOvers;
        Judge(FastCgiLog.HandOversTooFrequentId, rate >= ManyHandOvers, () => _log.HandOversTooFrequent(rate));
    }

    private void CheckDescriptors()
    {
        var limit = connections.Server.GetMaxDescriptors();
        // Counting may take a call per descriptor.
        if (!OperatingSystem.IsLinux() || (connections.Count < limit / 4 && !_areDescriptorsScarce))
            return;

        var count = _countDescriptors() ?? limit;
        _areDescriptorsScarce = count > limit * DescriptorsInUse;
        Judge(FastCgiLog.DescriptorsNearLimitId, _areDescriptorsScarce, () => _log.DescriptorsNearLimit(count, limit));
    }

    private void Judge(
        int id,
        List<(FrontEnd Now, FrontEnd? Before)> seen,
        Func<FrontEnd, long> count,
        Action<FrontEnd, long, long> report)
    {
        var wrong = seen.FirstOrDefault(pair => count(pair.Now) > (pair.Before is { } before ? count(before) : 0));
        Judge(id, wrong.Now is not null, () => report(
            wrong.Now!, count(wrong.Now!) - (wrong.Before is { } before ? count(before) : 0),
                wrong.Now!.Samples - (wrong.Before?.Samples ?? 0)));
    }

    /// <summary>Reports a problem once, confirms it while it lasts, and forgets it when it has cleared.</summary>
    private void Judge(int id, bool isWrong, Action report)
    {
        var finding = CollectionsMarshal.GetValueRefOrAddDefault(_findings, id, out _) ??= LogThrottle.Once(time);
        if (!isWrong && finding.Reset())
            journal.Forget(id);
        else if (isWrong && finding.TryAcquire(out _))
            report();
        else if (isWrong)
            journal.Confirm(id);
    }
}

internal readonly record struct ThreadPoolWork(long Waiting, long Completed);

/// <summary>Test overrides for process counters; <see langword="null"/> reads the real value.</summary>
internal readonly record struct DoctorOverrides(
    Func<ThreadPoolWork>? ThreadPool = null, Func<long>? HandOvers = null, Func<long?>? Descriptors = null);
