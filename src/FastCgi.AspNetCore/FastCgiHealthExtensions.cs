using FastCgi.AspNetCore.Status;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Extension methods that add a health check of the FastCGI server.</summary>
public static class FastCgiHealthExtensions
{
    /// <summary>
    /// Adds a health check of the FastCGI server: healthy while it accepts connections and requests, degraded when a limit on connections,
    /// requests, or threads is reached, and failed before startup has completed and during shutdown.
    /// </summary>
    /// <param name="builder">The <see cref="IHealthChecksBuilder"/>.</param>
    /// <param name="name">The name of the health check.</param>
    /// <param name="failureStatus">The status that is reported for a failure; defaults to <see cref="HealthStatus.Unhealthy"/>.</param>
    /// <param name="tags">Tags that can be used to filter health checks.</param>
    /// <returns>The <see cref="IHealthChecksBuilder"/>.</returns>
    public static IHealthChecksBuilder AddFastCgi(
        this IHealthChecksBuilder builder, string name = "fastcgi", HealthStatus? failureStatus = null, IEnumerable<string>? tags = null)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder.Add(new HealthCheckRegistration(name, static services => new FastCgiHealthCheck(services), failureStatus, tags));
    }
}
