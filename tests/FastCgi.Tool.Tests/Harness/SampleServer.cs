using FastCgi.AspNetCore;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Microsoft.Extensions.Options;

namespace FastCgi.Tool.Tests.Harness;

/// <summary>An application on our server. An unexpected error fails the test.</summary>
internal sealed class SampleServer : IAsyncDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly CollectedLogs _logs = new();
    private readonly WebApplication _application;

    private SampleServer(string greeting, bool usesUnixSocket, bool usesPipes, string? statusAddress)
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.UseFastCgi(options =>
        {
            options.Limits.MaxRequestBodySize = null;
            if (usesPipes)
                options.Listen(new PipesEndPoint(_folder.GetPath("pipes.sock")));
        });
        if (usesPipes)
            builder.Services.AddSingleton<IConnectionListenerFactory, PipesListenerFactory>();
        else
            builder.WebHost.UseUrls(statusAddress is null ? [_folder.GetAddress(usesUnixSocket)] : [
                _folder.GetAddress(usesUnixSocket), statusAddress]);
        builder.Logging.ClearProviders().AddProvider(_logs);
        _application = builder.Build();
        _application.MapGet("/", () => greeting);
        _application.MapPost(
            "/", static (HttpContext context) => context.Request.Body.CopyToAsync(context.Response.Body));
        _application.MapMethods("/sum", ["GET", "POST"], static async (HttpRequest request) =>
        {
            using var body = new MemoryStream();
            await request.Body.CopyToAsync(body);
            return $"{request.Method} {body.Length} {body.ToArray().Sum(static value => (long)value)}";
        });
        _application.MapGet(
            "/target", static (HttpContext context) => context.Features.Get<IHttpRequestFeature>()!.RawTarget);
        _application.MapGet("/client", static (HttpContext context) => $"{context.Request.Scheme} "
            + $"{context.Request.Host} {context.Connection.RemoteIpAddress} {context.Request.Headers["X-A"]}");
        _application.MapGet("/parameter", static (HttpContext context)
            => context.Features.Get<IServerVariablesFeature>()!["SCRIPT_FILENAME"] ?? "");
        _application.MapGet("/error", static async (HttpContext context) =>
        {
            await context.Features.Get<IFastCgiRequestFeature>()!.StandardError.WriteLineAsync(
                "said on standard error");
            context.Response.StatusCode = 503;
        });
        _application.MapFastCgiStatus("/fastcgi-status").AllowAnonymous();
        _application.MapGet(
            "/large", static (HttpResponse response) => response.Headers["X-Large"] = new string('x', 5_000));
        _application.MapMethods("/head", ["HEAD"], static () => Results.Ok());
        _application.MapGet("/moved", static () => Results.Redirect("/redirected"));
        _application.MapPost("/see-other", static () => Results.Redirect("redirected"));
        _application.MapPost(
            "/kept", static () => Results.Redirect("http://example.com/redirected", preserveMethod: true));
        _application.MapGet("/loop", static () => Results.Redirect("/loop"));
        _application.Map(
            "/redirected", static (HttpRequest request) => $"target: {request.Method} {request.ContentLength ?? 0}");
        _application.MapGet(
            "/hop", static (HttpRequest request) => $"{request.Headers["X-Hop"]}{request.Headers["X-Other"]}");
        _application.MapGet("/empty", static () => Results.NoContent());
        _application.MapGet(
            "/hold", static (HttpContext context) => Task.Delay(Timeout.Infinite, context.RequestAborted));
        _application.MapGet("/endless", static async (HttpContext context) =>
        {
            while (!context.RequestAborted.IsCancellationRequested)
                await context.Response.WriteAsync(new string('x', 1_000), context.RequestAborted);
        });
        _application.MapGet("/cut", static async (HttpContext context) =>
        {
            await context.Response.WriteAsync("beginning");
            await context.Response.Body.FlushAsync();
            context.Abort();
        });
        _application.MapFallback("{*path}", static (HttpContext context)
            => $"fallback {context.Features.Get<IHttpRequestFeature>()!.RawTarget}");
    }

    public CollectedLogs Logs => _logs;

    public string Address => _application.Services.GetRequiredService<IServer>().Features
        .Get<IServerAddressesFeature>()!.Addresses
        .Single();

    public static async Task<SampleServer> StartAsync(
        string greeting = "hello", bool usesUnixSocket = true, bool usesPipes = false, string? statusAddress = null)
    {
        var server = new SampleServer(greeting, usesUnixSocket, usesPipes, statusAddress);
        await server._application.StartAsync();
        return server;
    }

    public async ValueTask DisposeAsync()
    {
        await _application.DisposeAsync();
        _folder.Dispose();
        Assert.Empty(_logs.UnexpectedErrors.Select(static log => $"{log.Message} {log.Exception}"));
    }
}

/// <summary>An endpoint that <see cref="PipesListenerFactory"/> can bind.</summary>
internal sealed class PipesEndPoint(string path) : EndPoint
{
    public string Path => path;

    public override string ToString() => "unix:" + path;
}

/// <summary>Another transport, whose connections are pipes.</summary>
internal sealed class PipesListenerFactory : IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    private readonly SocketTransportFactory _sockets = new(
        Options.Create(new SocketTransportOptions()), NullLoggerFactory.Instance);

    public bool CanBind(EndPoint endpoint) => endpoint is PipesEndPoint;

    public ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
        => _sockets.BindAsync(new UnixDomainSocketEndPoint(((PipesEndPoint)endpoint).Path), cancellationToken);
}
