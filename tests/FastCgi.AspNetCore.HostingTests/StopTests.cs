using System.Net.Sockets;
using Microsoft.AspNetCore.Hosting.Server;

namespace FastCgi.AspNetCore.HostingTests;

/// <summary>How the server stops, however often and impatiently it is asked to.</summary>
public sealed class StopTests : IDisposable
{
    private static readonly CancellationToken s_cancelled = new(canceled: true);

    private readonly ScratchFolder _folder = new();
    private readonly TaskCompletionSource _entered = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _go = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _aborted = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public void Dispose() => _folder.Dispose();

    [Theory, EveryEngine]
    public async Task Stop_NothingRuns_NothingListensAnyMore(FastCgiTransportEngine engine)
    {
        await using var app = await StartAsync(engine);
        var address = Assert.Single(app.Urls);

        await GetServer(app).StopAsync(default).WaitAsync(Waiting.Patience);

        await Assert.ThrowsAnyAsync<SocketException>(() => FastCgiClient.GetAsync(address));
        Assert.False(File.Exists(_folder.GetPath("app.sock")));
    }

    [Theory, EveryEngine]
    [Trait("Contract", "T31")]
    public async Task Stop_Twice_SecondHasNothingToDo(FastCgiTransportEngine engine)
    {
        await using var app = await StartAsync(engine);

        await GetServer(app).StopAsync(default).WaitAsync(Waiting.Patience);
        await GetServer(app).StopAsync(default).WaitAsync(Waiting.Patience);
    }

    [Theory, EveryEngine]
    [Trait("Contract", "T31")]
    public async Task Stop_Concurrently_AllWaitForTheRequestThatRuns(FastCgiTransportEngine engine)
    {
        await using var app = await StartAsync(engine);
        using var client = await SendSlowAsync(app);

        var stops = Enumerable.Range(0, 4).Select(_ => Task.Run(() => GetServer(app).StopAsync(default))).ToList();
        Assert.DoesNotContain(stops, static stop => stop.IsCompleted);
        _go.SetResult();

        Assert.Equal("slow", await client.ReadTextAsync());
        await Task.WhenAll(stops).WaitAsync(Waiting.Patience);
    }

    [Theory, EveryEngine]
    public async Task Stop_CancelledToken_RequestThatRunsIsAborted(FastCgiTransportEngine engine)
    {
        await using var app = await StartAsync(engine);
        using var client = await SendSlowAsync(app);

        await GetServer(app).StopAsync(s_cancelled).WaitAsync(Waiting.Patience);

        await _aborted.Task.WaitAsync(Waiting.Patience);
        await Assert.ThrowsAnyAsync<IOException>(client.ReadTextAsync);
    }

    /// <summary>Who waits does so no longer than the most impatient wants.</summary>
    [Theory, EveryEngine]
    public async Task Stop_SecondWithACancelledToken_FirstEndsToo(FastCgiTransportEngine engine)
    {
        await using var app = await StartAsync(engine);
        using var client = await SendSlowAsync(app);

        var first = GetServer(app).StopAsync(default);
        var second = GetServer(app).StopAsync(s_cancelled);

        await Task.WhenAll(first, second).WaitAsync(Waiting.Patience);
        await _aborted.Task.WaitAsync(Waiting.Patience);
    }

    [Theory, EveryEngine]
    public async Task Dispose_RequestRuns_IsAborted(FastCgiTransportEngine engine)
    {
        await using var app = await StartAsync(engine);
        using var client = await SendSlowAsync(app);

        await Task.Run(GetServer(app).Dispose).WaitAsync(Waiting.Patience);

        await _aborted.Task.WaitAsync(Waiting.Patience);
    }

    [Theory, EveryEngine]
    [Trait("Contract", "T31")]
    public async Task Dispose_Twice_SecondHasNothingToDo(FastCgiTransportEngine engine)
    {
        await using var app = await StartAsync(engine);

        GetServer(app).Dispose();
        GetServer(app).Dispose();
    }

    [Theory, EveryEngine]
    public async Task Dispose_WithoutStart_NothingHappens(FastCgiTransportEngine engine)
    {
        await using var app = Build(engine);

        GetServer(app).Dispose();
    }

    [Theory, EveryEngine]
    [Trait("Contract", "T31")]
    public async Task Stop_WithoutStart_NothingHappens(FastCgiTransportEngine engine)
    {
        await using var app = Build(engine);

        await GetServer(app).StopAsync(default).WaitAsync(Waiting.Patience);
        await GetServer(app).StopAsync(s_cancelled).WaitAsync(Waiting.Patience);
    }

    [Theory, EveryEngine]
    public async Task Start_AfterStop_Refused(FastCgiTransportEngine engine)
    {
        await using var app = Build(engine);
        await GetServer(app).StopAsync(default).WaitAsync(Waiting.Patience);

        await Assert.ThrowsAsync<InvalidOperationException>(() => app.StartAsync());
        Assert.False(File.Exists(_folder.GetPath("app.sock")));
    }

    [Theory, EveryEngine]
    public async Task Stop_EachTime_DescriptorsAreGivenBack(FastCgiTransportEngine engine)
    {
        await using (await StartAsync(engine))
        {
        }

        var before = Descriptors.Count();
        for (var i = 0; i < 10; i++)
        {
            await using var app = await StartAsync(engine);
            Assert.Equal("fast", await FastCgiClient.GetAsync(UnixAddress));
        }

        // The threads of the last ones may be about to end.
        Assert.InRange(Descriptors.Count(), 0, before + 8);
    }

    [Theory, EveryEngine]
    public async Task Start_Twice_Refused(FastCgiTransportEngine engine)
    {
        await using var app = await StartAsync(engine);

        await Assert.ThrowsAsync<InvalidOperationException>(() => app.StartAsync());
        Assert.Equal("fast", await FastCgiClient.GetAsync(Assert.Single(app.Urls)));
    }

    [Theory, EveryEngine]
    public async Task Stop_WithHttpBeside_BothStop(FastCgiTransportEngine engine)
    {
        await using var app = Build(engine, "http://127.0.0.1:0");
        await app.StartAsync();
        var http = new Uri(app.Urls.Single(static address => address.StartsWith("http:", StringComparison.Ordinal)));

        await GetServer(app).StopAsync(default).WaitAsync(Waiting.Patience);
        GetServer(app).Dispose();

        using var client = new HttpClient(new SocketsHttpHandler { UseProxy = false });
        await Assert.ThrowsAsync<HttpRequestException>(() => client.GetAsync(http));
        await Assert.ThrowsAnyAsync<SocketException>(() => FastCgiClient.GetAsync(UnixAddress));
    }

    private string UnixAddress => $"fastcgi://unix:{_folder.GetPath("app.sock")}";

    private static IServer GetServer(WebApplication app) => app.Services.GetRequiredService<IServer>();

    private async Task<FastCgiClient> SendSlowAsync(WebApplication app)
    {
        var client = await FastCgiClient.ConnectAsync(Assert.Single(app.Urls));
        await client.SendAsync("/slow");
        await _entered.Task.WaitAsync(Waiting.Patience);
        return client;
    }

    private async Task<WebApplication> StartAsync(FastCgiTransportEngine engine)
    {
        var app = Build(engine);
        await app.StartAsync();
        return app;
    }

    private WebApplication Build(FastCgiTransportEngine engine, params string[] more)
    {
        var builder = WebApplication.CreateBuilder(["--hostBuilder:reloadConfigOnChange=false"]);
        builder.Logging.ClearProviders();
        builder.WebHost.UseFastCgi(options => options.Transport.Engine = engine);
        builder.WebHost.UseUrls([UnixAddress, .. more]);
        var app = builder.Build();
        app.MapGet("/", static () => "fast");
        app.MapGet("/slow", async (HttpContext context) =>
        {
            using var registration = context.RequestAborted.Register(_aborted.SetResult);
            _entered.SetResult();
            await Task.WhenAny(_go.Task, _aborted.Task);
            return "slow";
        });
        return app;
    }
}
