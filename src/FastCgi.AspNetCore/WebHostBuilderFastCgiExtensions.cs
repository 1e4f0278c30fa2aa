using FastCgi.AspNetCore;
using FastCgi.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection;

namespace Microsoft.AspNetCore.Hosting;

/// <summary>Adds the FastCGI server to an application.</summary>
public static class WebHostBuilderFastCgiExtensions
{
    /// <summary>
    /// Serves the application over FastCGI. The endpoints come from the section <c>FastCgi:Endpoints</c> of the configuration and from
    /// <c>fastcgi://</c> entries of <c>urls</c>; http addresses are served by Kestrel beside it. Without any of them it listens on
    /// <c>fastcgi://127.0.0.1:9000</c>.
    /// </summary>
    /// <param name="builder">The builder of the application's host.</param>
    /// <returns>The builder.</returns>
    public static IWebHostBuilder UseFastCgi(this IWebHostBuilder builder)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder.ConfigureServices(static (context, services) => ServerRegistration.Add(services, context.Configuration));
    }

    /// <summary>Serves the application over FastCGI, with options set in code; they override the configuration.</summary>
    /// <param name="builder">The builder of the application's host.</param>
    /// <param name="configure">Sets the options.</param>
    /// <returns>The builder.</returns>
    public static IWebHostBuilder UseFastCgi(this IWebHostBuilder builder, Action<FastCgiServerOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(configure);
        return builder.UseFastCgi((_, options) => configure(options));
    }

    /// <summary>Serves the application over FastCGI, with options set in code that knows the environment and the configuration.</summary>
    /// <param name="builder">The builder of the application's host.</param>
    /// <param name="configure">Sets the options.</param>
    /// <returns>The builder.</returns>
    public static IWebHostBuilder UseFastCgi(this IWebHostBuilder builder, Action<WebHostBuilderContext, FastCgiServerOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(configure);
        return builder.UseFastCgi().ConfigureServices((context, services) =>
            services.Configure<FastCgiServerOptions>(options => configure(context, options)));
    }
}
