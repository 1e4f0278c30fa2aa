using Microsoft.AspNetCore.Hosting.Server.Features;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>How the server handles its endpoints at startup, and its idle time.</summary>
public sealed class ServerStartTests
{
    [Fact]
    public async Task IdleExit_TimeIsOver_StopsTheHostAndLogsWhy()
    {
        await using var run = await ServerRun.StartAsync(
            Apps.Hello, static options => options.IdleExit = TimeSpan.FromMinutes(5));
        var lifetime = run.Host.Services.GetRequiredService<IHostApplicationLifetime>();
        run.Clock.Advance(TimeSpan.FromMinutes(4));
        Assert.False(lifetime.ApplicationStopping.IsCancellationRequested);

        run.Clock.Advance(TimeSpan.FromMinutes(2));

        await Waiting.UntilAsync(() => lifetime.ApplicationStopping.IsCancellationRequested, "the stop of the host");
        var log = Assert.Single(run.Logs.Named("IdleExit"));
        Assert.Equal(LogLevel.Information, log.Level);
        Assert.Contains("00:05:00", log.Message);
    }

    /// <summary>Otherwise, a stop would cut the requests of Kestrel.</summary>
    [Fact]
    public async Task IdleExit_KestrelServesToo_ItsRequestsCount()
    {
        using var http = new HttpServerByHand();
        await using var run = ServerRun.Make(
            Apps.Hello,
            static options => options.IdleExit = TimeSpan.FromMinutes(5),
            services => services.AddSingleton(
                provider => new PreviousServer(ServiceDescriptor.Singleton<IServer>(http), provider)));
        run.Server.Features.Get<IServerAddressesFeature>()!.Addresses.Add("http://127.0.0.1:1");
        await run.Host.StartAsync();

        run.Clock.Advance(TimeSpan.FromMinutes(4));
        var end = http.Begin!();
        run.Clock.Advance(TimeSpan.FromMinutes(6));
        end();
        run.Clock.Advance(TimeSpan.FromMinutes(4));
        http.Begin()();
        run.Clock.Advance(TimeSpan.FromMinutes(4));
        Assert.Empty(run.Logs.Named("IdleExit"));

        run.Clock.Advance(TimeSpan.FromMinutes(2));

        await run.Logs.SingleAsync("IdleExit");
    }

    /// <summary>Requests may still come, and need their timeouts.</summary>
    [Fact]
    public async Task IdleExit_CallbackOfTheApplicationBlocks_ClockContinues()
    {
        using var go = new ManualResetEventSlim();
        await using var run = await ServerRun.StartAsync(
            Apps.Hello, static options => options.IdleExit = TimeSpan.FromMinutes(5));
        run.Host.Services.GetRequiredService<IHostApplicationLifetime>().ApplicationStopping.Register(go.Wait);

        try
        {
            await Task.Run(() => run.Clock.Advance(TimeSpan.FromMinutes(6))).Within("the ticks");
        }
        finally
        {
            go.Set();
        }
    }

    /// <summary>The scheduler stops first, so that a blocked handler does not delay the rest of the stop.</summary>
    [Fact]
    public async Task Stop_Server_BeginsWithTheScheduler()
    {
        var go = Waiting.Signal();
        await using var run = await ServerRun.StartAsync(Apps.HelloAfter(go.Task));
        var frontEnd = run.Connect();
        frontEnd.Send(RecordBytes.Get());
        Assert.False(IsUnboundedOf(run.Server.Scheduler!.Workers));

        var stopping = run.Server.StopAsync(CancellationToken.None);

        Assert.True(IsUnboundedOf(run.Server.Scheduler!.Workers));
        Assert.False(stopping.IsCompleted);
        go.SetResult();
        await frontEnd.ReadResponseAsync();
        frontEnd.Close();
        await stopping.Within("the stop");
    }

    /// <summary>A failing third-party listener must not cut requests.</summary>
    [Fact]
    public async Task Stop_ListenerFails_RequestThatRunsIsAnswered()
    {
        var go = Waiting.Signal();
        var failing = new TestListenerFactory { Unbinding = Task.FromException(new IOException("on purpose")) };
        await using var run = await ServerRun.StartAsync(
            Apps.HelloAfter(go.Task), services: services => services.AddSingleton<IConnectionListenerFactory>(failing));
        run.Logs.Expected.Add("StopStepFailed");
        var frontEnd = run.Connect();
        frontEnd.Send(RecordBytes.Get());

        var stopping = run.Server.StopAsync(CancellationToken.None);
        go.SetResult();

        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
        frontEnd.Close();
        await stopping.Within("the stop");
        Assert.Equal("on purpose", Assert.Single(run.Logs.Named("StopStepFailed")).Exception!.Message);
    }

    [Fact]
    public async Task EndPoint_OfManyFactories_GoesToTheLastThatCanBindIt()
    {
        var (first, second) = (new TestListenerFactory(), new TestListenerFactory());
        var other = new TestListenerFactory { CanBindTo = static _ => false };
        await using var run = await ServerRun.StartAsync(Apps.Hello, services: services => services
            .AddSingleton<IConnectionListenerFactory>(first)
                .AddSingleton<IConnectionListenerFactory>(second).AddSingleton<IConnectionListenerFactory>(other));

        var listener = Assert.Single(second.Made);
        Assert.Empty(first.Made);
        Assert.Empty(other.Made);
        Assert.Equal("nobody", listener.EndPoint.ToString());
        await run.Host.StopAsync();
        Assert.True(listener is { IsUnbound: true, IsDisposed: true });
    }

    [Fact]
    public async Task EndPoint_OfNoFactory_IsAnError()
    {
        await using var run = ServerRun.Make(Apps.Hello, static options => options.Listen(new DnsEndPoint("name", 1)));
        run.Logs.Expected.Add("HostedServiceStartupFaulted");

        var error = await Assert.ThrowsAsync<InvalidOperationException>(() => run.Host.StartAsync());

        Assert.Equal("No registered IConnectionListenerFactory can bind fastcgi://Unspecified/name:1. Register one, "
            + "or remove the endpoint.", error.Message);
    }

    [Fact]
    public async Task Addresses_OfAStartedServer_AreThoseItListensOnAndAreFixed()
    {
        await using var run = ServerRun.Make(Apps.Hello);
        var addresses = run.Server.Features.Get<IServerAddressesFeature>()!.Addresses;
        var list = Assert.IsAssignableFrom<IList<string>>(addresses);
        // Before the start, hosting and the application may change them.
        addresses.Add("http://127.0.0.1:1");
        list[0] = "http://127.0.0.1:2";
        Assert.Equal(["http://127.0.0.1:2"], addresses);
        list.RemoveAt(0);
        addresses.Add("http://127.0.0.1:3");
        addresses.Clear();
        Assert.Empty(addresses);
        await run.Host.StartAsync();

        Assert.Equal(["fastcgi://nobody"], addresses);
        Assert.Throws<InvalidOperationException>(() => addresses.Add("x"));
        Assert.Throws<InvalidOperationException>(() => list[0] = "x");
        Assert.Throws<InvalidOperationException>(() => list.RemoveAt(0));
        Assert.Throws<InvalidOperationException>(addresses.Clear);
        Assert.Equal(["fastcgi://nobody"], addresses);
        Assert.Contains(
            run.Logs.All,
            static log
            => log.EventName == "Listening" && log.Message.Contains("fastcgi://nobody"));
    }

    [Fact]
    public async Task Start_Twice_IsAnErrorAndTheFirstContinues()
    {
        await using var run = await ServerRun.StartAsync(Apps.Hello);

        await Assert.ThrowsAsync<InvalidOperationException>(
            () => run.Server.StartAsync(new Fuzzing.NullApplication(), default));

        Assert.True(run.Server.IsRunning);
    }

    /// <summary>A stop cleans up a failed start. Until it begins, the status must not say "running".</summary>
    [Fact]
    public async Task Start_Failed_IsAtNoTimeRunning()
    {
        var bind = Waiting.Signal();
        await using var run = ServerRun.Make(
            Apps.Hello,
            services: services => services.AddSingleton<IConnectionListenerFactory>(
                new TestListenerFactory { Binding = () => bind.Task }));
        var start = run.Server.StartAsync(new Fuzzing.NullApplication(), default);
        Assert.Equal("starting", run.Status.State);

        lock (StopLockOf(run.Server))
        {
            bind.SetException(new IOException("on purpose"));
            Assert.True(SpinWait.SpinUntil(() => StartEndedOf(run.Server).Task.IsCompleted, Waiting.Patience));

            Assert.False(run.Server.IsRunning);
        }

        await Assert.ThrowsAsync<IOException>(() => start);
        Assert.Equal("stopping", run.Status.State);
    }

    [Theory, Values(false, true)]
    public async Task Start_StoppedWhileAnEndpointIsBound_EndsAndReleasesAll(bool isDisposed)
    {
        var bind = Waiting.Signal();
        var endPoint = new DnsEndPoint("late", 1);
        var bound = new TestListenerFactory();
        var late = new TestListenerFactory { CanBindTo = endPoint.Equals, Binding = () => bind.Task };
        await using var run = ServerRun.Make(
            Apps.Hello,
            options => options.Listen(endPoint),
            services => services.AddSingleton<IConnectionListenerFactory>(bound)
                .AddSingleton<IConnectionListenerFactory>(late));
        var start = run.Server.StartAsync(new Fuzzing.NullApplication(), default);
        Assert.False(start.IsCompleted);

        if (isDisposed)
            run.Server.Dispose();
        else
            await run.Server.StopAsync(default);

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => start.WaitAsync(TimeSpan.FromSeconds(30)));
        Assert.False(run.Server.IsRunning);
        Assert.True(Assert.Single(bound.Made).IsDisposed);
        // The listener comes after the caller has given up waiting.
        bind.SetResult();
        await Waiting.UntilAsync(() => !late.Made.IsEmpty, "the late listener");
        var listener = Assert.Single(late.Made);
        await listener.Disposed.Within("its disposal");
        Assert.False(listener.IsAsked);
    }

    /// <summary>The HTTP server beside this one, whose requests the test begins and ends.</summary>
    private sealed class HttpServerByHand : IServer
    {
        public IFeatureCollection Features { get; } = new FeatureCollection();

        /// <summary>Begins a request, and returns what ends it.</summary>
        public Func<Action>? Begin { get; private set; }

        public Task StartAsync<TContext>(IHttpApplication<TContext> application, CancellationToken cancellationToken)
            where TContext : notnull
        {
            Begin = () =>
            {
                var context = application.CreateContext(new FeatureCollection
                {
                    [typeof(IHttpRequestFeature)] = new HttpRequestFeature(),
                    [typeof(IHttpResponseFeature)] = new HttpResponseFeature(),
                });
                return () => application.DisposeContext(context, exception: null);
            };
            return Task.CompletedTask;
        }

        public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public void Dispose()
        {
        }
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_stopLock")]
    private static extern ref Lock StopLockOf(FastCgiServer server);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_startEnded")]
    private static extern ref TaskCompletionSource<bool> StartEndedOf(FastCgiServer server);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_isUnbounded")]
    private static extern ref bool IsUnboundedOf(WorkerPool pool);
}
