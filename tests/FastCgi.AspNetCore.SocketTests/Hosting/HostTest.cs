namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>
/// A test of applications on real sockets: <c>/</c> returns Hello, and <c>/slow</c> waits for a signal or an abort.
/// </summary>
public abstract class HostTest : IDisposable
{
    private readonly SemaphoreSlim _entered = new(0);

    protected ScratchFolder Folder { get; } = new();

    protected CollectedLogs Logs { get; } = new();

    /// <summary>Releases the slow requests.</summary>
    protected TaskCompletionSource Go { get; } = Waiting.Signal();

    /// <summary>A slow request was aborted.</summary>
    protected TaskCompletionSource Aborted { get; } = Waiting.Signal();

    protected string SocketPath => Folder.GetPath("app.sock");

    protected string Address => $"fastcgi://unix:{SocketPath}";

    public void Dispose()
    {
        Dispose(isDisposing: true);
        GC.SuppressFinalize(this);
    }

    protected virtual void Dispose(bool isDisposing)
    {
        _entered.Dispose();
        Folder.Dispose();
        Assert.Null(Invariants.FirstViolation);
    }

    protected static int CountDescriptors()
        => OperatingSystem.IsLinux() ? Directory.EnumerateFileSystemEntries("/proc/self/fd").Count() : 0;

    private protected static FastCgiServer GetServer(WebApplication app)
        => (FastCgiServer)app.Services.GetRequiredService<IServer>();

    protected WebApplicationBuilder CreateBuilder(params string[] arguments)
    {
        string[] all = ["--hostBuilder:reloadConfigOnChange=false", .. arguments];
        var builder = WebApplication.CreateBuilder(
            new WebApplicationOptions { Args = all, ContentRootPath = Folder.Path });
        builder.Logging.ClearProviders().AddProvider(Logs);
        return builder;
    }

    protected WebApplication Build(WebApplicationBuilder builder)
    {
        var app = builder.Build();
        app.MapGet("/", static () => "Hello");
        app.MapGet("/slow/{**rest}", async (HttpContext context) =>
        {
            await using var registration = context.RequestAborted.Register(() => Aborted.TrySetResult());
            _entered.Release();
            await Task.WhenAny(Go.Task, Aborted.Task);
            return "slow";
        });
        return app;
    }

    protected WebApplication Build(params string[] arguments)
    {
        var builder = CreateBuilder(arguments);
        builder.WebHost.UseFastCgi();
        return Build(builder);
    }

    protected WebApplication Build(Engine engine, params string[] addresses)
        => Choose(engine, Build("--urls", addresses is [] ? Address : string.Join(';', addresses)));

    private protected static WebApplication Choose(Engine engine, WebApplication app)
    {
        GetServer(app).UsesEpoll &= engine == Engine.Epoll;
        return app;
    }

    protected async Task<WebApplication> StartAsync(WebApplicationBuilder builder)
    {
        var app = Build(builder);
        await app.StartAsync();
        return app;
    }

    protected async Task<WebApplication> StartAsync(Engine engine, params string[] addresses)
    {
        var app = Build(engine, addresses);
        await app.StartAsync();
        return app;
    }

    protected async Task<WebApplication> StartAsync(params string[] arguments)
    {
        var app = Build(arguments);
        await app.StartAsync();
        return app;
    }

    protected Task WriteSettingsAsync(string json) => File.WriteAllTextAsync(Folder.GetPath("appsettings.json"), json);

    /// <summary>Sends a request, and waits until the application has received it.</summary>
    protected async Task<FastCgiClient> SendSlowAsync(string uri = "/slow")
    {
        var client = await FastCgiClient.ConnectAsync(Address);
        await client.SendAsync(uri, keepConnection: false);
        Assert.True(await _entered.WaitAsync(Waiting.Patience));
        return client;
    }
}
