using System.Globalization;
using FastCgi.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace FastCgi.AspNetCore.Status;

/// <summary>Whether the server takes connections, and has room for requests.</summary>
internal sealed class FastCgiHealthCheck(IServiceProvider services) : IHealthCheck
{
    /// <inheritdoc/>
    public Task<HealthCheckResult> CheckHealthAsync(HealthCheckContext context, CancellationToken cancellationToken = default)
        => Task.FromResult(Check(context.Registration.FailureStatus));

    private HealthCheckResult Check(HealthStatus failure)
    {
        // In a test, or at the desk.
        if (services.GetService<IServer>() is not FastCgiServer server)
            return HealthCheckResult.Healthy("The server of this application is not FastCgi.AspNetCore.");
        if (server is not { IsRunning: true, Connections: { } connections, Scheduler: { } scheduler })
            return new HealthCheckResult(failure, "The FastCGI server has not started, or stops.");

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
        var full = connections.Count >= (limits.MaxConcurrentConnections ?? long.MaxValue) ? Tell("MaxConcurrentConnections", limits.MaxConcurrentConnections)
            : limits.MaxConcurrentRequests is not null && connections.Server.Admission.TakenCount.Ordinary >= limits.MaxConcurrentRequests && queued >= limits.RequestQueueLimit
                ? Tell("MaxConcurrentRequests", limits.MaxConcurrentRequests)
            : withoutThread > 0 ? Tell("MaxBlockingThreads", server.Options.Transport.MaxBlockingThreads)
            : null;
        return full is null ? HealthCheckResult.Healthy("The FastCGI server has room.", data) : HealthCheckResult.Degraded(full, data: data);
    }

    private static string Tell(string name, long? limit)
        => string.Create(CultureInfo.InvariantCulture, $"The FastCGI server is at its limit {name}, which is {limit}.");
}
