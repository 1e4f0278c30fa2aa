using Microsoft.AspNetCore.HttpsPolicy;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection.Extensions;

namespace FastCgi.AspNetCore.Hosting;

internal static class ServerRegistration
{
    public static void Add(IServiceCollection services, IConfiguration configuration)
    {
        var registered = services.LastOrDefault(static service => service.ServiceType == typeof(IServer));
        if (registered?.ImplementationType == typeof(FastCgiServer))
            return;

        services.AddOptions();
        services.AddLogging();
        services.AddMetrics();
        if (!services.Any(static service => service.ServiceType == typeof(KestrelSettings)))
        {
            services.AddSingleton<KestrelSettings>();
            services.Insert(0, ServiceDescriptor.Singleton<IConfigureOptions<KestrelServerOptions>>(
                static provider => provider.GetRequiredService<KestrelSettings>()));
            services.AddSingleton<IStartupFilter, KestrelOverrideCheck>();
            services.AddSingleton<HttpsRedirection>();
            services.AddSingleton<IPostConfigureOptions<HttpsRedirectionOptions>>(
                static provider => provider.GetRequiredService<HttpsRedirection>());
            // Must run before anything else that sets FastCGI options, even if registered earlier.
            services.Insert(0, ServiceDescriptor.Singleton<IConfigureOptions<FastCgiServerOptions>>(
                static provider => provider.GetRequiredService<KestrelSettings>()));
        }

        services.TryAddEnumerable(
            ServiceDescriptor.Singleton<IConfigureOptions<FastCgiServerOptions>>(
                new FastCgiServerOptionsSetup(configuration)));
        services.TryAddEnumerable(ServiceDescriptor.Singleton<MatcherPolicy, RoleMatcherPolicy>());
        services.TryAddSingleton<ServerAddresses>();
        services.TryAddSingleton(new ServerTime(TimeProvider.System));
        services.TryAddSingleton(static provider => new EventJournal(
            provider.GetRequiredService<ILoggerFactory>().CreateLogger("FastCgi.AspNetCore"),
            provider.GetRequiredService<ServerTime>().Provider));
        services.AddSingleton(provider => new PreviousServer(registered, provider));
        services.AddSingleton<IServer, FastCgiServer>();
    }
}

/// <summary>The server's clock; tests set it. The application's <see cref="TimeProvider"/> may stand still.</summary>
internal sealed record ServerTime(TimeProvider Provider);
