using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.Status;

internal static class StatusLimits
{
    public static IEnumerable<LimitStatus> Read(
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
