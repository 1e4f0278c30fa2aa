using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Routing;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Options;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Registers the server with what it needs.</summary>
internal static class ServerRegistration
{
    /// <summary>Registers the server, in place of the one that was registered before.</summary>
    /// <param name="services">The services of the host.</param>
    /// <param name="configuration">The configuration, whose section <c>FastCgi</c> sets the options.</param>
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
            services.Insert(0, ServiceDescriptor.Singleton<IConfigureOptions<KestrelServerOptions>>(static provider => provider.GetRequiredService<KestrelSettings>()));
            services.AddSingleton<IStartupFilter, LastServer>();
            // Before everything that sets an option of ours, also what was registered earlier.
            services.Insert(0, ServiceDescriptor.Singleton<IConfigureOptions<FastCgiServerOptions>>(static provider => provider.GetRequiredService<KestrelSettings>()));
        }

        services.TryAddEnumerable(ServiceDescriptor.Singleton<IConfigureOptions<FastCgiServerOptions>>(new FastCgiServerOptionsSetup(configuration)));
        services.TryAddEnumerable(ServiceDescriptor.Singleton<MatcherPolicy, RoleMatcherPolicy>());
        services.AddSingleton(new HttpServer(registered));
        services.AddSingleton<IServer, FastCgiServer>();
    }
}
