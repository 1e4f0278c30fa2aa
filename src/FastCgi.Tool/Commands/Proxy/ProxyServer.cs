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

/// <summary>One run of <c>proxy</c>: Kestrel for HTTP, and the FastCGI client.</summary>
internal sealed class ProxyServer(ToolConsole console, ProxySettings settings)
{
    // Ctrl-C takes effect at once: a developer does not wait for long polls.
    private static readonly TimeSpan s_shutdownTimeout = TimeSpan.FromMilliseconds(100);

    public async Task<int> RunAsync(CancellationToken cancellationToken)
    {
        if (settings.Root is not null && !Directory.Exists(settings.Root))
            throw new ToolException(ExitCode.CannotRun, $"There is no folder {settings.Root}.");

        using var relay = settings.RecordingFile is { } file ? new RecordingRelay(settings.Address, file, console) : null;
        var options = new FastCgiClientOptions { MaxConnections = settings.MaxConnections, ConnectTimeout = settings.Timeout };
        using var client = new FastCgiClient(relay?.Address ?? settings.Address, options);
        await using var app = Build(client);
        try
        {
            await app.StartAsync(cancellationToken);
        }
        catch (Exception exception) when (exception is IOException or System.Net.Sockets.SocketException)
        {
            throw new ToolException(ExitCode.CannotRun, $"Cannot listen on {string.Join(' ', settings.Urls)}: {exception.Message}");
        }

        foreach (var url in app.Services.GetRequiredService<IServer>().Features.Get<IServerAddressesFeature>()!.Addresses)
            await console.Error.WriteLineAsync($"Listening on {url}, for {settings.Address}. Press Ctrl-C to stop.");
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
            // The application limits the size.
            options.Limits.MaxRequestBodySize = null;
            // As the client reads them: no byte is lost.
            options.ResponseHeaderEncodingSelector = static _ => Encoding.Latin1;
        });
        builder.Services.Configure<HostOptions>(static options => options.ShutdownTimeout = s_shutdownTimeout);
        builder.Logging.ClearProviders();
        var app = builder.Build();
        var log = new TrafficLog(console, settings.IsJson);
        app.Use(log.InvokeAsync);
        if (settings.Root is { } root)
        {
            // Unknown types such as .php go to the application: their source is not served.
            app.UseStaticFiles(new StaticFileOptions { FileProvider = new PhysicalFileProvider(Path.GetFullPath(root)) });
        }

        app.Run(new Forwarder(client, settings).InvokeAsync);
        return app;
    }
}
