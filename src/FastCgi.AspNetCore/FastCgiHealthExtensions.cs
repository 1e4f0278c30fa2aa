using FastCgi.AspNetCore.Status;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Adds the FastCGI server to the health checks of an application.</summary>
public static class FastCgiHealthExtensions
{
    /// <summary>
    /// Checks the FastCGI server: healthy while it takes connections and requests, degraded at its limits of connections, requests or
    /// threads, failed before it has started and while it stops.
    /// </summary>
    /// <param name="builder">The health checks.</param>
    /// <param name="name">The name of the check.</param>
    /// <param name="failureStatus">What failed means; unhealthy by default.</param>
    /// <param name="tags">Tags to choose checks by.</param>
    /// <returns>The health checks.</returns>
    public static IHealthChecksBuilder AddFastCgi(
        this IHealthChecksBuilder builder, string name = "fastcgi", HealthStatus? failureStatus = null, IEnumerable<string>? tags = null)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder.Add(new HealthCheckRegistration(name, static services => new FastCgiHealthCheck(services), failureStatus, tags));
    }
}
