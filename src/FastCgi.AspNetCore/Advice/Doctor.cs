using System.Runtime.InteropServices;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Linux;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Advice;

/// <summary>
/// Checks every ten seconds what the web servers pass and how the process is, and reports once what the operator can improve. When a problem is
/// gone, the status no longer shows it. <see cref="OperatorAdvisor"/> reports what a single request shows.
/// </summary>
internal sealed class Doctor(
    ConnectionManager connections, RequestScheduler scheduler, OperatorAdvisor advisor, EventJournal journal, TimeProvider time, DoctorSenses senses = default)
    : IDisposable
{
    /// <summary>The time between two looks.</summary>
    public static readonly TimeSpan Interval = TimeSpan.FromSeconds(10);

    // New connections of a second at which keeping them pays.
    private const double ManyConnections = 20;

    // Work waits for a thread of the pool for longer than this many seconds, at this many looks in a row. A pool that is merely busy is
    // through with what waits in milliseconds.
    private const double MaxPoolWait = 1;
    private const int MinPoolWaiting = 10;
    private const int MaxStarvedLooks = 2;
    private const double ManyHandOvers = 20;

    // The part of the descriptors that may be open.
    private const double DescriptorsInUse = 0.8;

    private readonly Func<ThreadPoolWork> _threadPool = senses.ThreadPool ?? (static () => new(ThreadPool.PendingWorkItemCount, ThreadPool.CompletedWorkItemCount));
    private readonly Func<long> _countHandOvers = senses.HandOvers ?? (() => scheduler.Watchdog.HandOverCount);
    private readonly Func<long?> _countDescriptors = senses.Descriptors ?? (static () => OperatingSystem.IsLinux() ? Descriptors.Count() : null);
    private readonly ILogger _log = SafeLogger.Wrap(journal);
    private readonly Dictionary<string, FrontEnd> _frontEnds = new(StringComparer.Ordinal);
    private readonly Dictionary<int, LogThrottle> _findings = [];
    private Totals _totals;
    private long _handOvers;
    private long _completedWork;
    private long _givenUp;
    private (long At, TimeSpan Age)? _lastGivenUp;
    private long _lastLook = time.GetTimestamp();
    private int _starvedLooks;
    private bool _areDescriptorsScarce;
    private bool _isLooking;
    private ITimer? _timer;

    /// <summary>Starts to look.</summary>
    public void Start() => _timer = ThreadRoot.StartTimer(time, this, static doctor => doctor.Look(), Interval, Interval, _log);

    /// <summary>Stops to look.</summary>
    public void Dispose() => _timer?.Dispose();

    /// <summary>Looks once, unless a log provider still holds up the look before.</summary>
    public void Look()
    {
        if (Interlocked.Exchange(ref _isLooking, true))
            return;

        try
        {
            LookAtAll();
        }
        finally
        {
            Volatile.Write(ref _isLooking, false);
        }
    }

    private void LookAtAll()
    {
        var now = time.GetTimestamp();
        var seconds = Math.Max(1, time.GetElapsedTime(_lastLook, now).TotalSeconds);
        _lastLook = now;
        var totals = connections.GetTotals();
        var connectionRate = (totals.Connections - _totals.Connections) / seconds;
        _totals = totals;

        LookAtFrontEnds(connectionRate);
        LookAtGivenUpRequests();
        LookAtThreads(seconds);
        LookAtDescriptors();
    }

    private void LookAtFrontEnds(double connectionRate)
    {
        var all = advisor.FrontEnds.GetAll().Select(frontEnd => (Now: frontEnd, Before: _frontEnds.GetValueOrDefault(frontEnd.Software))).ToList();
        var seen = all.Where(static pair => pair.Now.Samples > (pair.Before?.Samples ?? 0)).ToList();
        foreach (var (frontEnd, _) in all)
            _frontEnds[frontEnd.Software] = frontEnd;
        if (seen.Count == 0)
            return;

        Judge(FastCgiLog.SchemeNotPassedId, seen, static frontEnd => frontEnd.LackingScheme,
            (frontEnd, count, samples) => _log.SchemeNotPassed(frontEnd.Software, count, samples, FrontEndLines.Scheme(frontEnd.Software)));
        Judge(FastCgiLog.HostNotPassedId, seen, static frontEnd => frontEnd.LackingHost,
            (frontEnd, count, samples) => _log.HostNotPassed(frontEnd.Software, count, samples, FrontEndLines.Host(frontEnd.Software)));

        // Only of web servers that can keep connections: a single request of a tool says nothing. One request of a second is looked at, so
        // that of those that have a connection to themselves, the part of a web server is its part of the new connections.
        var unkept = Math.Max(1, seen.Sum(static pair => CountUnkept(pair.Now, pair.Before)));
        var (spender, rate) = seen.Where(static pair => FrontEndLines.KeptConnections(pair.Now.Software) is not null && pair.Now.Kept == (pair.Before?.Kept ?? 0))
            .Select(pair => (pair.Now, Rate: connectionRate * CountUnkept(pair.Now, pair.Before) / unkept)).OrderByDescending(static pair => pair.Rate).FirstOrDefault();
        Judge(FastCgiLog.ConnectionsNotKeptId, spender is not null && rate >= ManyConnections,
            () => _log.ConnectionsNotKept(spender!.Software, rate, FrontEndLines.KeptConnections(spender.Software)!));
    }

    private static long CountUnkept(FrontEnd now, FrontEnd? before) => now.Samples - now.Kept - ((before?.Samples ?? 0) - (before?.Kept ?? 0));

    private void LookAtGivenUpRequests()
    {
        var found = advisor.GivenUpRequests.FindTimeout(ref _givenUp);
        // A request takes as long as the time-out to be given up: what was so at the look before may be so still.
        if (found is null && _lastGivenUp is { } last && time.GetElapsedTime(last.At) < last.Age * 2)
            return;

        _lastGivenUp = found is { } one ? (time.GetTimestamp(), one.Age) : null;
        Judge(FastCgiLog.RequestsGivenUpId, found is not null, () => _log.RequestsGivenUp(
            GivenUpRequests.MinCount, found!.Value.Age.TotalSeconds, found.Value.WebServer ?? "the web server", FrontEndLines.ReadTimeout(found.Value.WebServer)));
    }

    private void LookAtThreads(double seconds)
    {
        var (waiting, completed) = _threadPool();
        var isStarved = waiting >= MinPoolWaiting && waiting > (completed - _completedWork) / seconds * MaxPoolWait;
        _completedWork = completed;
        _starvedLooks = isStarved ? _starvedLooks + 1 : 0;
        Judge(FastCgiLog.ThreadPoolStarvedId, _starvedLooks >= MaxStarvedLooks,
            () => _log.ThreadPoolStarved(waiting, (int)(_starvedLooks * Interval.TotalSeconds), Math.Max(100, 2 * ThreadPool.ThreadCount)));

        var handOvers = _countHandOvers();
        var rate = (handOvers - _handOvers) / seconds;
        _handOvers = handOvers;
        Judge(FastCgiLog.HandOversTooFrequentId, rate >= ManyHandOvers, () => _log.HandOversTooFrequent(rate));
    }

    private void LookAtDescriptors()
    {
        var limit = connections.Server.GetMaxDescriptors();
        // To count them takes a call for each, so they are counted only where it may be close.
        if (!OperatingSystem.IsLinux() || (connections.Count < limit / 4 && !_areDescriptorsScarce))
            return;

        var count = _countDescriptors() ?? limit;
        _areDescriptorsScarce = count > limit * DescriptorsInUse;
        Judge(FastCgiLog.DescriptorsNearLimitId, _areDescriptorsScarce, () => _log.DescriptorsNearLimit(count, limit));
    }

    private void Judge(int id, List<(FrontEnd Now, FrontEnd? Before)> seen, Func<FrontEnd, long> count, Action<FrontEnd, long, long> report)
    {
        var wrong = seen.FirstOrDefault(pair => count(pair.Now) > (pair.Before is { } before ? count(before) : 0));
        Judge(id, wrong.Now is not null, () => report(
            wrong.Now!, count(wrong.Now!) - (wrong.Before is { } before ? count(before) : 0), wrong.Now!.Samples - (wrong.Before?.Samples ?? 0)));
    }

    /// <summary>Reports what is wrong when it begins, and forgets it when it ends.</summary>
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

/// <summary>The work of .NET's thread pool.</summary>
/// <param name="Waiting">What waits for a thread.</param>
/// <param name="Completed">What was done since the start of the process.</param>
internal readonly record struct ThreadPoolWork(long Waiting, long Completed);

/// <summary>What the doctor sees the process with; what is not given is seen as it is.</summary>
/// <param name="ThreadPool">The work of .NET's thread pool.</param>
/// <param name="HandOvers">How often a loop was taken from a thread that a handler kept.</param>
/// <param name="Descriptors">How many descriptors are open.</param>
internal readonly record struct DoctorSenses(Func<ThreadPoolWork>? ThreadPool = null, Func<long>? HandOvers = null, Func<long?>? Descriptors = null);
