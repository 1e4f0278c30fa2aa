using System.ComponentModel;
using System.Diagnostics;
using System.Reflection;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.Status;

/// <summary>Creates snapshots of the status on demand; only latencies are recorded beforehand.</summary>
internal sealed class StatusReader(FastCgiServer server, string applicationName)
{
    // Limits the size of the page.
    private const int MaxConnections = 200;
    private const int MaxRequests = 200;

    private static readonly string s_version = typeof(StatusReader).Assembly
        .GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion.Split('+')[0] ?? "?";

    public StatusSnapshot? Read()
    {
        if (server is not { Connections: { } connections, Context: { } context, Scheduler: { } scheduler })
            return null;

        var totals = connections.GetTotals();
        context.Statistics.Watch(totals);
        var events = server.Journal.GetEntries();
        var requests = ReadRequests(context, totals);
        var resources = ReadResources(context, scheduler);
        return new StatusSnapshot
        {
            Application = applicationName,
            Version = s_version,
            Runtime = RuntimeInformation.FrameworkDescription,
            System =
                $"{RuntimeInformation.OSDescription}, {RuntimeInformation.ProcessArchitecture}, "
                    + $"{Environment.ProcessorCount} processors",
            ProcessId = Environment.ProcessId,
            StartedAt = server.StartedAt,
            Uptime = server.Uptime.TotalSeconds,
            TakenAt = server.Now,
            State = GetState(),
            Engine = server.HasEpoll ? "epoll" : "Socket",
            Loops = server.Options.Transport.LoopCount,
            Scheduling = server.Options.Transport.ApplicationScheduling.ToString(),
            Endpoints = [.. server.EndPoints.Select(EndpointAddress.Format)],
            Connections = ReadConnections(connections, totals),
            Requests = requests,
            Recent = ReadRecent(context.Statistics.GetRecent(totals)),
            Resources = resources,
            Limits = [.. ReadLimits(context, connections.Count, requests, resources)],
            Recommendations = [.. events.Where(static entry => entry.Level <= LogLevel.Warning)],
            Errors = [.. events.Where(static entry => entry.Level > LogLevel.Warning)],
            FrontEnds = server.Advisor?.FrontEnds.GetAll() ?? [],
            OtherFrontEndSamples = server.Advisor?.FrontEnds.OtherSamples ?? 0,
            OpenConnections = connections.Describe(MaxConnections),
            ActiveRequests = connections.DescribeRequests(MaxRequests),
        };
    }

    private string GetState()
    {
        if (server.IsRunning)
            return "running";

        return server.IsStopping ? "stopping" : "starting";
    }

    private static ConnectionTotals ReadConnections(ConnectionManager connections, Totals totals)
    {
        var counters = connections.Server.Counters;
        return new ConnectionTotals(
            connections.Count, totals.Connections, counters.RejectedConnections, counters.RefusedPeers,
            totals.BytesReceived, totals.BytesSent,
            counters.ProtocolErrors.ToDictionary(static count => count.Key.ToString(), static count => count.Value));
    }

    private static RequestTotals ReadRequests(ServerContext server, Totals totals)
    {
        var counters = server.Counters;
        var queued = server.Admission.QueuedCount;
        return new RequestTotals(
            Math.Max(0, totals.Active - queued), queued, totals.Requests,
            counters.RejectedRequests.ToDictionary(
                static count => string.Create(CultureInfo.InvariantCulture, $"{count.Key.GetStatusCode()} {count.Key}"),
                static count => count.Value),
            counters.AbortedRequests.ToDictionary(static count => count.Key.ToString(), static count => count.Value));
    }

    private static RecentStatus ReadRecent(RecentRequests recent) => new(
        Math.Round(recent.Time.TotalSeconds, 1),
        Math.Round(recent.RequestRate, 1),
        Math.Round(recent.ConnectionRate, 1),
        Math.Round(recent.ReceiveRate),
        Math.Round(recent.SendRate),
        recent.Latencies.Sum(),
        GetSeconds(recent, 0.5),
        GetSeconds(recent, 0.9),
        GetSeconds(recent, 0.99),
        GetSeconds(recent, 1));

    private static double? GetSeconds(RecentRequests recent, double part)
        => LatencyHistogram.GetPercentile(recent.Latencies, part)?.TotalSeconds;

    /// <summary>Reads memory and CPU time; 0 without a free descriptor, when the status is often read.</summary>
    private static (long Memory, TimeSpan ProcessorTime) ReadProcess()
    {
        try
        {
            using var process = Process.GetCurrentProcess();
            return (process.WorkingSet64, process.TotalProcessorTime);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or Win32Exception
            or InvalidOperationException)
        {
            return default;
        }
    }

    private static ResourceStatus ReadResources(ServerContext context, Execution.RequestScheduler scheduler)
    {
        var (memory, processorTime) = ReadProcess();
        return new ResourceStatus(
            context.Buffers.AllocatedBytes,
            GC.GetTotalMemory(forceFullCollection: false),
            memory,
            Math.Round(processorTime.TotalSeconds, 2),
            OperatingSystem.IsLinux() ? Descriptors.Count() : null,
            scheduler.Watchdog.HandOverCount,
            scheduler.Workers.Count,
            scheduler.Workers.BlockedCount,
            scheduler.Workers.WaitingCount,
            ThreadPool.ThreadCount,
            ThreadPool.PendingWorkItemCount);
    }

    internal static IEnumerable<LimitStatus> ReadLimits(
        ServerContext server, long connectionCount, RequestTotals requests, ResourceStatus resources)
    {
        var options = server.Options;
        var areRequestsLimited = options.Limits.MaxConcurrentRequests is not null;
        var usage = new Dictionary<string, long>
        {
            [nameof(FastCgiServerLimits.MaxConcurrentConnections)] = connectionCount,
            [nameof(FastCgiServerLimits.MaxConcurrentRequests)] =
                areRequestsLimited ? server.Admission.TakenCount.Ordinary : requests.Active,
            [nameof(FastCgiServerLimits.RequestQueueLimit)] = requests.Queued,
            [nameof(FastCgiTransportOptions.MaxBlockingThreads)] = resources.BlockedThreads,
        };
        var limits = Settings.All
            .Select(static setting => (Name: setting.Name[(setting.Name.IndexOf(':') + 1)..], Row: setting))
            .Where(limit => limit.Row.Name.StartsWith("Limits:", StringComparison.Ordinal)
                || usage.ContainsKey(limit.Name))
            .Select(limit => Describe(
                limit.Name,
                areRequestsLimited || limit.Name != nameof(FastCgiServerLimits.RequestQueueLimit)
                    ? limit.Row.Get(options)
                    : null,
                usage.TryGetValue(limit.Name, out var used) ? used : null));
        if (resources.Descriptors is { } descriptors)
            limits = limits.Append(Describe("file descriptors", server.GetMaxDescriptors(), descriptors));
        return limits.OrderBy(static limit => limit.Used is null);
    }

    private static LimitStatus Describe(string name, object? limit, long? used)
    {
        var number = used is null || limit is null ? 0 : Convert.ToInt64(limit, CultureInfo.InvariantCulture);
        return new(name, Format(limit), used, number > 0 ? Math.Round((double)used!.Value / number, 3) : null);
    }

    private static string Format(object? limit) => limit switch
    {
        null => "none",
        TimeSpan time => time.TotalSeconds.ToString("0.###", CultureInfo.InvariantCulture) + " s",
        MinDataRate rate => Format((long)rate.BytesPerSecond),
        _ => string.Create(CultureInfo.InvariantCulture, $"{limit:N0}"),
    };
}
