namespace FastCgi.AspNetCore.Status;

/// <summary>The limits and, where known, their usage.</summary>
internal static class StatusLimits
{
    private const string None = "none";

    public static IEnumerable<LimitStatus> Read(
        ServerContext server, long connectionCount, RequestTotals requests, ResourceStatus resources)
    {
        var options = server.Options;
        var limits = options.Limits;
        yield return Gauge("MaxConcurrentConnections", limits.MaxConcurrentConnections, connectionCount);
        var taken = limits.MaxConcurrentRequests is null ? requests.Active : server.Admission.TakenCount.Ordinary;
        yield return Gauge("MaxConcurrentRequests", limits.MaxConcurrentRequests, taken);
        yield return Gauge(
            "RequestQueueLimit", limits.MaxConcurrentRequests is null
                ? null
                : limits.RequestQueueLimit, requests.Queued);
        yield return Time("RequestQueueTimeout", limits.RequestQueueTimeout);
        yield return Gauge("MaxBlockingThreads", options.Transport.MaxBlockingThreads, resources.BlockedThreads);
        if (resources.Descriptors is { } descriptors)
            yield return Gauge("file descriptors", server.GetMaxDescriptors(), descriptors);
        yield return Number("MaxRequestsPerConnection", limits.MaxRequestsPerConnection);
        yield return Number("MaxRequestParametersTotalSize", limits.MaxRequestParametersTotalSize);
        yield return Number("MaxRequestParameterCount", limits.MaxRequestParameterCount);
        yield return Number("MaxRequestBodySize", limits.MaxRequestBodySize);
        yield return Number("MaxRequestBufferSize", limits.MaxRequestBufferSize);
        yield return Number("MaxResponseBufferSize", limits.MaxResponseBufferSize);
        yield return Number("MaxStandardErrorSize", limits.MaxStandardErrorSize);
        yield return Time("RequestParametersTimeout", limits.RequestParametersTimeout);
        yield return Number("MinRequestBodyDataRate", (long?)limits.MinRequestBodyDataRate?.BytesPerSecond);
        yield return Time("UnreadBodyTimeout", limits.UnreadBodyTimeout);
        yield return Time("SendTimeout", limits.SendTimeout);
        yield return Time("KeepAliveTimeout", limits.KeepAliveTimeout);
        yield return Time("LingerTimeout", limits.LingerTimeout);
        yield return Time("ShutdownIdleGracePeriod", limits.ShutdownIdleGracePeriod);
    }

    private static LimitStatus Gauge(string name, long? limit, long used)
        => new(name, Format(limit), used, limit > 0 ? Math.Round((double)used / limit.Value, 3) : null);

    private static LimitStatus Number(string name, long? limit) => new(name, Format(limit), null, null);

    private static LimitStatus Time(string name, TimeSpan? limit)
        => new(name, limit is { } time ? time.TotalSeconds.ToString(
            "0.###", CultureInfo.InvariantCulture) + " s" : None, null, null);

    private static string Format(long? limit) => limit?.ToString("N0", CultureInfo.InvariantCulture) ?? None;
}
