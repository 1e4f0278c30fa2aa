using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Warns if Kestrel has replaced this server, which is normal only in Development over HTTP.</summary>
internal sealed class KestrelOverrideCheck(
    IServer server, IHostEnvironment environment, ILoggerFactory loggers) : IStartupFilter
{
    public Action<IApplicationBuilder> Configure(Action<IApplicationBuilder> next)
    {
        var isKestrel = server.GetType().Assembly == typeof(KestrelServerOptions).Assembly;
        var addresses = server.Features.Get<IServerAddressesFeature>()?.Addresses ?? [];
        if (isKestrel && (!environment.IsDevelopment() || addresses.Any(EndpointAddress.IsFastCgi)))
            loggers.CreateLogger("FastCgi.AspNetCore").KestrelTookOver();
        return next;
    }
}
