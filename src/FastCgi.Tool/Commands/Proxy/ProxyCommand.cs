using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.FileProviders;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace FastCgi.Tool.Commands.Proxy;

internal sealed class ProxyCommand : ToolCommand
{
    // Ctrl-C takes effect immediately, even during long polls.
    private static readonly TimeSpan s_shutdownTimeout = TimeSpan.FromMilliseconds(50);

    // As in Apache.
    private static readonly TimeSpan s_keepAliveTimeout = TimeSpan.FromSeconds(5);

    public ProxyCommand(ToolConsole console)
        : base(console, "proxy", "Serves a FastCGI application over HTTP, without configuration.")
    {
        HandlesInterruption = true;
        AddAddress();
        AddTexts("--listen", "URL", "The HTTP address to listen on; repeatable [default: http://localhost:8080]",
            static text
            => Uri.TryCreate(text, UriKind.Absolute, out var uri)
                && uri is { Scheme: "http", PathAndQuery: "/", UserInfo: "", Fragment: "" }
                && (uri.HostNameType != UriHostNameType.Dns || uri.Host == "localhost")
                ? null : $"'{text}' does not have the form http://HOST:PORT, with an IP address or localhost as HOST.");
        AddText("--root", "FOLDER", "Serve the files of this folder, and use it as DOCUMENT_ROOT",
            static text => Directory.Exists(text) ? null : $"There is no folder '{text}'.");
        AddParameters();
        AddNumber("--max-connections", "The maximum number of connections to the application");
        AddText("--record", "FILE", "Record the traffic with the application to a file", CheckPresence);
        AddTimeoutAndJson("How long the application may take to begin its response; after that, the client gets a 504",
            60);
    }

    protected override async Task<int> RunAsync(ParseResult arguments, CancellationToken cancellationToken)
    {
        var (address, timeout) = (arguments.GetAddress(), arguments.GetTimeout());
        var root = arguments.GetText("--root") is { } folder ? Path.GetFullPath(folder) : null;
        // Kestrel parses some of these texts differently, and would listen on all interfaces.
        var urls = (arguments.GetValue<string[]>("--listen") ?? []).DefaultIfEmpty("http://localhost:8080")
            .Select(static text => new Uri(text)).Select(static uri => $"http://{uri.Host}:{uri.Port}").ToArray();
        using var recording = arguments.GetText("--record") is { } file ? new Recording(file, Terminal) : null;
        using var client = new FastCgiClient(address, new FastCgiClientOptions
        {
            MaxConnections = arguments.GetValue<int?>("--max-connections"),
            ConnectTimeout = timeout,
            Trace = recording,
        });
        var log = new TrafficLog(Terminal, arguments.IsJson());
        await using var app = Build(urls, root, new Forwarder(client, arguments.GetParameters(), root, timeout), log);
        try
        {
            await app.StartAsync(cancellationToken);
        }
        catch (Exception exception) when (exception is IOException or SocketException)
        {
            throw CannotRun($"Cannot listen on {string.Join(' ', urls)}: {exception.Message}");
        }

        foreach (var url in app.Urls)
            Terminal.Say($"Listening on {url}, forwarding to {address}. Press Ctrl-C to stop.");
        await Task.Delay(Timeout.Infinite, cancellationToken).ContinueWith(static _ => { }, TaskScheduler.Default);
        await app.StopAsync(CancellationToken.None);
        Terminal.Say("Stopped.");
        return ExitCode.Ok;
    }

    private static WebApplication Build(string[] urls, string? root, Forwarder forwarder, TrafficLog log)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().UseUrls(urls).ConfigureKestrel(options =>
        {
            options.Limits.KeepAliveTimeout = s_keepAliveTimeout;
            // The application limits the size and the rate.
            options.Limits.MaxRequestBodySize = null;
            options.Limits.MinRequestBodyDataRate = null;
            // Like the FastCGI client, so that no byte is lost.
            options.ResponseHeaderEncodingSelector = static _ => Encoding.Latin1;
            options.RequestHeaderEncodingSelector = static _ => Encoding.Latin1;
        });
        builder.Services.Configure<HostOptions>(static options => options.ShutdownTimeout = s_shutdownTimeout);
        builder.Logging.ClearProviders();
        var app = builder.Build();
        app.Use(log.InvokeAsync);
        // Files of unknown types, such as .php, are not served: they go to the application.
        if (root is not null)
        {
            var files = new PhysicalFileProvider(root);
            app.UseStaticFiles(new StaticFileOptions { FileProvider = files });
        }

        app.Run(forwarder.InvokeAsync);
        return app;
    }
}
