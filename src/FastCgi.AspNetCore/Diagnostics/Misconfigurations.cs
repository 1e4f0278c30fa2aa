using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// Tells an operator what to mend, where a request shows it: how often, the cause, and the line to add, at most once a minute each.
/// No lock is held when a method is called, and none is called for a request that nothing is wrong with.
/// </summary>
internal sealed class Misconfigurations(ILogger log, TimeProvider time)
{
    private readonly LogRateLimit _methods = new(time);
    private readonly LogRateLimit _targets = new(time);
    private readonly LogRateLimit _hosts = new(time);
    private readonly LogRateLimit _refusals = new(time);
    private readonly LogRateLimit _droppedHeaders = new(time);

    /// <summary>A request without REQUEST_METHOD was answered 400.</summary>
    public void ReportMissingMethod(string advice)
    {
        if (_methods.TryAcquire(out var count))
            log.ParametersMissing("REQUEST_METHOD", count, "they were answered 400", advice);
    }

    /// <summary>A request without a path was taken for one of the root.</summary>
    public void ReportMissingTarget(string advice)
    {
        if (_targets.TryAcquire(out var count))
            log.ParametersMissing("REQUEST_URI", count, "the application sees each as one for /", advice);
    }

    /// <summary>The application was told a host without a port, and there is one.</summary>
    public void ReportHostWithoutPort(string host, string? port)
    {
        if (_hosts.TryAcquire(out var count))
            log.HostWithoutPort(port, host, count);
    }

    /// <summary>A request was answered 503 because too many were under way.</summary>
    public void ReportBusy(long? limit, int queueLimit)
    {
        if (_refusals.TryAcquire(out var count))
            log.RequestsRefused(count, limit, queueLimit);
    }

    /// <summary>The application has set headers that are not its own.</summary>
    public void ReportDroppedHeaders(string connectionId, string traceIdentifier, string names)
    {
        if (_droppedHeaders.TryAcquire(out var count))
            log.HeadersDropped(connectionId, traceIdentifier, names, count);
    }
}
