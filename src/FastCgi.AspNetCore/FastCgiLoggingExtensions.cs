using FastCgi.AspNetCore.Diagnostics;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;

namespace Microsoft.Extensions.Logging;

/// <summary>Adds the web server's error log to an application's logging.</summary>
public static class FastCgiLoggingExtensions
{
    /// <summary>
    /// Writes what is logged as an error while a request is worked on to the error log of the web server that sent it, besides the
    /// other logs (<see cref="FastCgi.AspNetCore.IFastCgiRequestFeature.StandardError"/>).
    /// </summary>
    /// <param name="builder">The builder of the application's logging.</param>
    /// <returns>The builder.</returns>
    /// <remarks>Categories are chosen in the section <c>Logging:FastCgiStandardError:LogLevel</c> of the configuration.</remarks>
    public static ILoggingBuilder AddFastCgiStandardError(this ILoggingBuilder builder)
    {
        ArgumentNullException.ThrowIfNull(builder);
        builder.Services.AddHttpContextAccessor();
        builder.Services.TryAddEnumerable(ServiceDescriptor.Singleton<ILoggerProvider, StandardErrorLoggerProvider>());
        return builder;
    }
}
