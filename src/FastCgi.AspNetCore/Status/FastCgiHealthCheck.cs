using FastCgi.AspNetCore.Hosting;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace FastCgi.AspNetCore.Status;

/// <summary>Checks whether the server accepts connections and has capacity for requests.</summary>
internal sealed class FastCgiHealthCheck(IServiceProvider services) : IHealthCheck
{
    public Task<HealthCheckResult> CheckHealthAsync(HealthCheckContext context, CancellationToken cancellationToken = default)
        => Task.FromResult(Check(context.Registration.FailureStatus));

    private HealthCheckResult Check(HealthStatus failure)
    {
        // In a test or during development.
        if (services.GetService<IServer>() is not FastCgiServer server)
            return HealthCheckResult.Healthy("The application does not use FastCgi.AspNetCore.");
        if (server is not { IsRunning: true, Connections: { } connections, Scheduler: { } scheduler })
            return new HealthCheckResult(failure, "The FastCGI server has not started, or is stopping.");

        var limits = server.Options.Limits;
        var queued = connections.Server.Admission.QueuedCount;
        var withoutThread = scheduler.Workers.WaitingCount;
        var data = new Dictionary<string, object>
        {
            ["active_connections"] = (long)connections.Count,
            ["active_requests"] = connections.CountRequests(),
            ["queued_requests"] = (long)queued,
            ["requests_without_thread"] = (long)withoutThread,
        };
        var full = connections.Count >= (limits.MaxConcurrentConnections ?? long.MaxValue)
            ? DescribeLimit("MaxConcurrentConnections", limits.MaxConcurrentConnections)
            : limits.MaxConcurrentRequests is not null && connections.Server.Admission.TakenCount.Ordinary >= limits.MaxConcurrentRequests
                && queued >= limits.RequestQueueLimit
                ? DescribeLimit("MaxConcurrentRequests", limits.MaxConcurrentRequests)
            : withoutThread > 0 ? DescribeLimit("MaxBlockingThreads", server.Options.Transport.MaxBlockingThreads)
            : null;
        return full is null ? HealthCheckResult.Healthy("The FastCGI server is below its limits.", data) : HealthCheckResult.Degraded(full, data: data);
    }

    private static string DescribeLimit(string name, long? limit)
        => string.Create(CultureInfo.InvariantCulture, $"The FastCGI server is at its limit: {name} is {limit}.");
}
