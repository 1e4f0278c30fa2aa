using System.Net.Sockets;
using System.Runtime.Versioning;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting.Server;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>How the server stops, however often and impatiently it is asked to.</summary>
[Collection(Alone.Name)]
public sealed class StopTests : IDisposable
{
    private static readonly CancellationToken s_cancelled = new(canceled: true);

    private readonly ScratchFolder _folder = new();
    private readonly CollectedLogs _logs = new();
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
        // The first requests of a process open what it keeps: files of assemblies, the event loops of the client's sockets.
        await StartAndStopAsync(engine, times: 3);
        var before = Descriptors.Count();

        await StartAndStopAsync(engine, times: 10);

        // The threads of the last ones may be about to end.
        await Waiting.UntilAsync(() => Descriptors.Count() <= before + 8, "all descriptors to be given back");
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

    /// <summary>With Inline, the thread of the loop is in the application, and stays there.</summary>
    [Theory, EveryEngine]
    public async Task Stop_InlineAndAHandlerThatNeverReturns_EndsAndSaysSo(FastCgiTransportEngine engine)
    {
        using var never = new ManualResetEventSlim();
        await using var app = Build(engine, static options =>
        {
            options.Transport.ApplicationScheduling = FastCgiApplicationScheduling.Inline;
            options.Transport.LoopCount = 1;
        });
        app.MapGet("/never", () =>
        {
            _entered.SetResult();
            never.Wait();
        });
        await app.StartAsync();
        using var client = await FastCgiClient.ConnectAsync(UnixAddress);
        await client.SendAsync("/never", keepConnection: false);
        await _entered.Task.WaitAsync(Waiting.Patience);

        using var patience = new CancellationTokenSource(TimeSpan.FromMilliseconds(200));
        try
        {
            await GetServer(app).StopAsync(patience.Token).WaitAsync(Waiting.Patience);

            Assert.StartsWith("The shutdown timed out. Requests aborted: 1; ", Assert.Single(_logs.All, static log => log.EventName == "StopTimedOut").Message, StringComparison.Ordinal);
            Assert.False(File.Exists(_folder.GetPath("app.sock")));
            await Assert.ThrowsAnyAsync<SocketException>(() => FastCgiClient.ConnectAsync(UnixAddress));
        }
        finally
        {
            never.Set();
        }
    }

    /// <summary>Whatever happened to the folder of the socket, the requests that run are finished.</summary>
    [OrdinaryUserTheory, EveryEngine]
    [UnsupportedOSPlatform("windows")]
    public async Task Stop_SocketFileCannotBeRemoved_RequestThatRunsFinishes(FastCgiTransportEngine engine)
    {
        await using var app = await StartAsync(engine);
        using var client = await SendSlowAsync(app);
        File.SetUnixFileMode(_folder.Path, UnixFileMode.UserRead | UnixFileMode.UserExecute);

        var stop = GetServer(app).StopAsync(default);
        _go.SetResult();

        Assert.Equal("slow", await client.ReadTextAsync());
        await stop.WaitAsync(Waiting.Patience);
        File.SetUnixFileMode(_folder.Path, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
        Assert.Single(_logs.All, static log => log.EventName == "SocketFileLeft");
        await Assert.ThrowsAnyAsync<SocketException>(() => FastCgiClient.ConnectAsync(UnixAddress));
    }

    /// <summary>A listener of another library that fails is no reason to cut requests either.</summary>
    [Theory, EveryEngine]
    public async Task Stop_AnotherListenerFails_RequestThatRunsFinishes(FastCgiTransportEngine engine)
    {
        await using var app = Build(engine, static options => options.Listen(new FailingListenerFactory.EndPoint()));
        await app.StartAsync();
        using var client = await SendSlowAsync(app, UnixAddress);

        var stop = GetServer(app).StopAsync(default);
        _go.SetResult();

        Assert.Equal("slow", await client.ReadTextAsync());
        await stop.WaitAsync(Waiting.Patience);
        Assert.Contains("on purpose", Assert.Single(_logs.All, static log => log.EventName == "StopStepFailed").Exception!.Message, StringComparison.Ordinal);
    }

    private string UnixAddress => $"fastcgi://unix:{_folder.GetPath("app.sock")}";

    private static IServer GetServer(WebApplication app) => app.Services.GetRequiredService<IServer>();

    private Task<FastCgiClient> SendSlowAsync(WebApplication app) => SendSlowAsync(app, Assert.Single(app.Urls));

    private async Task<FastCgiClient> SendSlowAsync(WebApplication app, string address)
    {
        Assert.Contains(address, app.Urls);
        var client = await FastCgiClient.ConnectAsync(address);
        await client.SendAsync("/slow", keepConnection: false);
        await _entered.Task.WaitAsync(Waiting.Patience);
        return client;
    }

    private async Task StartAndStopAsync(FastCgiTransportEngine engine, int times)
    {
        for (var i = 0; i < times; i++)
        {
            await using var app = await StartAsync(engine);
            Assert.Equal("fast", await FastCgiClient.GetAsync(UnixAddress));
        }
    }

    private async Task<WebApplication> StartAsync(FastCgiTransportEngine engine)
    {
        var app = Build(engine);
        await app.StartAsync();
        return app;
    }

    private WebApplication Build(FastCgiTransportEngine engine, params string[] more) => Build(engine, static _ => { }, more);

    private WebApplication Build(FastCgiTransportEngine engine, Action<FastCgiServerOptions> configure, params string[] more)
    {
        var builder = WebApplication.CreateBuilder(["--hostBuilder:reloadConfigOnChange=false"]);
        builder.Logging.ClearProviders().AddProvider(_logs);
        builder.Services.AddSingleton<IConnectionListenerFactory, FailingListenerFactory>();
        builder.WebHost.UseFastCgi(options =>
        {
            options.Transport.Engine = engine;
            configure(options);
        });
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
