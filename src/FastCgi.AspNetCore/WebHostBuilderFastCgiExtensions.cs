using FastCgi.AspNetCore;

namespace Microsoft.AspNetCore.Hosting;

/// <summary>Extension methods that add the FastCGI server to an application.</summary>
public static class WebHostBuilderFastCgiExtensions
{
    /// <summary>
    /// Uses FastCGI to serve the application. Endpoints come from the configuration section <c>FastCgi:Endpoints</c>
    /// and from <c>fastcgi://</c> entries of <c>urls</c>; Kestrel serves http addresses in the same process. Without
    /// any endpoint, the server listens on <c>fastcgi://127.0.0.1:9000</c>.
    /// </summary>
    /// <param name="builder">The <see cref="IWebHostBuilder"/>.</param>
    /// <returns>The <see cref="IWebHostBuilder"/>.</returns>
    public static IWebHostBuilder UseFastCgi(this IWebHostBuilder builder)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder.ConfigureServices(
            static (context, services) => ServerRegistration.Add(services, context.Configuration));
    }

    /// <summary>
    /// Uses FastCGI to serve the application, with options that take precedence over the configuration.
    /// </summary>
    /// <param name="builder">The <see cref="IWebHostBuilder"/>.</param>
    /// <param name="configure">Configures the options.</param>
    /// <returns>The <see cref="IWebHostBuilder"/>.</returns>
    public static IWebHostBuilder UseFastCgi(this IWebHostBuilder builder, Action<FastCgiServerOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(configure);
        return builder.UseFastCgi((_, options) => configure(options));
    }

    /// <summary>
    /// Uses FastCGI to serve the application, with options that depend on the environment and the configuration.
    /// </summary>
    /// <param name="builder">The <see cref="IWebHostBuilder"/>.</param>
    /// <param name="configure">Configures the options.</param>
    /// <returns>The <see cref="IWebHostBuilder"/>.</returns>
    public static IWebHostBuilder UseFastCgi(
        this IWebHostBuilder builder, Action<WebHostBuilderContext, FastCgiServerOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(configure);
        return builder.UseFastCgi().ConfigureServices((context, services) =>
            services.Configure<FastCgiServerOptions>(options => configure(context, options)));
    }
}
