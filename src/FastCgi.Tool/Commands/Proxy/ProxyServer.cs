using System.Text;
using FastCgi.Client;
using FastCgi.Tool.Terminal;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.FileProviders;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace FastCgi.Tool.Commands.Proxy;

/// <summary>One run of <c>proxy</c>: Kestrel in front, the client behind.</summary>
internal sealed class ProxyServer(ToolConsole console, ProxySettings settings)
{
    public async Task<int> RunAsync(CancellationToken cancellationToken)
    {
        if (settings.Root is not null && !Directory.Exists(settings.Root))
            return console.Fail(ExitCode.Usage, $"The folder {settings.Root} is not there.", settings.IsJson);

        using var client = new FastCgiClient(settings.Address, new FastCgiClientOptions { MaxConnections = settings.MaxConnections, ConnectTimeout = settings.Timeout });
        await using var app = Build(client);
        try
        {
            await app.StartAsync(cancellationToken);
        }
        catch (IOException exception)
        {
            return console.Fail(ExitCode.CannotConnect, exception.Message, settings.IsJson);
        }

        foreach (var url in app.Services.GetRequiredService<IServer>().Features.Get<IServerAddressesFeature>()!.Addresses)
            await console.Error.WriteLineAsync($"Listening on {url}, for {settings.Address}. Ctrl-C ends it.");
        await WaitAsync(cancellationToken);
        await app.StopAsync(CancellationToken.None);
        await console.Error.WriteLineAsync("Stopped.");
        return ExitCode.Ok;
    }

    private static async Task WaitAsync(CancellationToken cancellationToken)
    {
        var end = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using (cancellationToken.UnsafeRegister(static state => ((TaskCompletionSource)state!).TrySetResult(), end))
            await end.Task;
    }

    private WebApplication Build(FastCgiClient client)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().UseUrls(settings.Urls).ConfigureKestrel(static options =>
        {
            // What sizes are allowed is the application's to say.
            options.Limits.MaxRequestBodySize = null;
            // As the client reads them, so that no byte is lost.
            options.ResponseHeaderEncodingSelector = static _ => Encoding.Latin1;
        });
        builder.Services.Configure<HostOptions>(static options => options.ShutdownTimeout = TimeSpan.FromSeconds(5));
        builder.Logging.ClearProviders();
        var app = builder.Build();
        var log = new TrafficLog(console, settings.IsJson);
        app.Use(log.InvokeAsync);
        if (settings.Root is { } root)
        {
            // Of a type that is not known, such as .php, no source is given away: it goes to the application.
            app.UseStaticFiles(new StaticFileOptions { FileProvider = new PhysicalFileProvider(Path.GetFullPath(root)) });
        }

        app.Run(new Forwarder(client, settings).InvokeAsync);
        return app;
    }
}
