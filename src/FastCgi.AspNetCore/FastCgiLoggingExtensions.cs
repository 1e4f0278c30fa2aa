using Microsoft.Extensions.DependencyInjection.Extensions;

namespace Microsoft.Extensions.Logging;

/// <summary>Extension methods that add the web server's error log to the logging of the application.</summary>
public static class FastCgiLoggingExtensions
{
    /// <summary>
    /// Adds a logger that writes the errors of a request to the error log of the web server that sent it, in addition
    /// to the other loggers (<see cref="FastCgi.AspNetCore.IFastCgiRequestFeature.StandardError"/>).
    /// </summary>
    /// <param name="builder">The <see cref="ILoggingBuilder"/>.</param>
    /// <returns>The <see cref="ILoggingBuilder"/>.</returns>
    /// <remarks>The configuration section <c>Logging:FastCgiStandardError:LogLevel</c> filters categories.</remarks>
    public static ILoggingBuilder AddFastCgiStandardError(this ILoggingBuilder builder)
    {
        ArgumentNullException.ThrowIfNull(builder);
        builder.Services.AddHttpContextAccessor();
        builder.Services.TryAddEnumerable(ServiceDescriptor.Singleton<ILoggerProvider, StandardErrorLoggerProvider>());
        return builder;
    }
}
