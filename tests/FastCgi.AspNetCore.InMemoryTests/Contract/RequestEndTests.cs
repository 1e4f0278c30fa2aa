namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>The steps of the server around the application, their order, and the failure of each.</summary>
public class RequestEndTests
{
    // More than the requests that a connection may have unfinished.
    private const int Enough = 250;

    [Fact]
    [Contract("A1", "A2")]
    public async Task OnCompleted_Waits_EndIsSentAndNextRequestsAreAnswered()
    {
        var go = Waiting.Signal();
        var order = new Observations();
        var disposed = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            if (context.Request.Path != "/first")
            {
                context.Response.OnCompleted(() => go.Task);
                await Apps.Target(context);
                return;
            }

            context.Response.OnStarting(Apps.Do(() => order.Note("OnStarting", context.Response.HasStarted)));
            context.Response.RegisterForDispose(new Disposal(() =>
            {
                order.Note("disposed", context.Request.Path);
                disposed.SetResult();
            }));
            context.Response.OnCompleted(async () =>
            {
                order.Note("OnCompleted", context.Response.HasStarted);
                await go.Task;
            });
        });

        Assert.Equal(200, (await frontEnd.AskAsync(RecordBytes.Get(uri: "/first"))).Status);
        for (var i = 0; i < Enough; i++)
        {
            Assert.Equal("GET /second", (await frontEnd.AskAsync(RecordBytes.Get(uri: "/second"))).Text);
            Assert.False(frontEnd.IsPaused);
        }

        Assert.Equal(["OnStarting: False", "OnCompleted: True"], order.Lines);
        go.SetResult();

        await disposed.Task.Within("the release");
        Assert.Equal("disposed: /first", order.Lines[^1]);
    }

    [Fact]
    [Contract("A3")]
    public async Task Context_CreationThrows_500AndServerContinues()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            static app => app.Run(Apps.Hello),
            services: static services => services.AddSingleton<IHttpContextFactory, FailingContextFactory>(),
            expects: "ApplicationError");

        for (var i = 0; i < 20; i++)
        {
            Assert.Equal(500, (await frontEnd.AskAsync(RecordBytes.Get(uri: "/create"))).Status);
            Assert.Equal("Hello", (await frontEnd.AskAsync(RecordBytes.Get(uri: "/other"))).Text);
        }

        Assert.Equal(20, frontEnd.Server.Logs.Named("ApplicationError").Count);
    }

    /// <summary>The log of a report, a callback, the disposal of services, or the headers.</summary>
    [Contract("A4")]
    [Theory, Values("log", "callback", "dispose", "feature")]
    public async Task End_AStepThrows_OthersFollowAndTheConnectionContinues(string step)
    {
        var (completed, disposed) = (0, 0);
        await using var frontEnd = await TestServer.ConnectAsync(
            app => app.Run(Apps.Do(context =>
            {
                context.Response.StatusCode = StatusCodes.Status404NotFound;
                context.Response.OnCompleted(Apps.Do(() => completed++));
                if (step == "callback")
                    context.Response.OnCompleted(static () => throw new InvalidOperationException("on purpose"));
                _ = context.RequestServices.GetRequiredService<Disposal>();
                if (step == "feature")
                    context.Features.GetRequiredFeature<IHttpResponseFeature>().Headers = null!;
            })),
            options => options.PathBase = "/app",
            services =>
            {
                services.AddScoped(_ => new Disposal(Dispose));
                if (step == "log")
                    services.AddSingleton<ILoggerProvider>(new ActingLogs(
                        "PathBaseNotMatched", static () => throw new InvalidOperationException("on purpose")));
            });
        frontEnd.Server.Logs.Expected.UnionWith(["ApplicationError", "DisposeContextFailed", "RequestEndFailed"]);

        for (var i = 0; i < Enough; i++)
            Assert.Equal(
                step == "feature" ? 500 : 404, (await frontEnd.AskAsync(RecordBytes.Get(uri: "/other"))).Status);

        await Waiting.UntilAsync(() => (completed, disposed) == (Enough, Enough), "all callbacks and disposals");

        void Dispose()
        {
            disposed++;
            if (step == "dispose")
                throw new InvalidOperationException("on purpose");
        }
    }

    /// <summary>Kestrel logs an error too, although the mistake is the client's.</summary>
    [Theory]
    [Contract("A5", "H16", "I17", "I13")]
    [InlineData(400, "Debug")]
    [InlineData(413, "Debug")]
    [InlineData(500, "Error")]
    public async Task BadHttpRequestException_EscapesTheApplication_ItsStatusAndDebugIfTheClientIsToBlame(
        int status, string level)
    {
        var feature = Waiting.Signal<string?>();
        await using var frontEnd = await TestServer.ConnectAsync(
            context =>
            {
                context.Response.OnCompleted(Apps.Do(
                    () => feature.SetResult(context.Features.Get<IBadRequestExceptionFeature>()!.Error?.Message)));
                throw new BadHttpRequestException("on purpose", status);
            },
            expects: level == "Error" ? "ApplicationError" : null);

        Assert.Equal(status, (await frontEnd.AskAsync()).Status);
        Assert.Equal("on purpose", await feature.Task.Within("the callback"));
        var logs = frontEnd.Server.Logs.All.Where(static log => log.EventName is "BadRequest" or "ApplicationError")
            .Select(static log => log.Level.ToString());
        Assert.Equal(["Debug", level], logs);
    }

    [Theory]
    [Contract("A8")]
    [Values("at once", "after a wait", "exception", "OnStarting", "OnCompleted", "aborted")]
    public async Task AsyncLocal_SetAnywhere_NotSeenByTheNextRequest(string where)
    {
        var local = new AsyncLocal<string>();
        await using var server = await TestServer.StartAsync(async context =>
        {
            if (local.Value is not null)
                throw new InvalidOperationException("Leaked: " + local.Value);
            await LeakAsync(context, local, where);
        }, expects: "ApplicationError");
        var frontEnd = server.Connect();

        for (var i = 0; i < 10; i++)
        {
            frontEnd.Send(RecordBytes.Get());
            await frontEnd.ReadOutcomeAsync();
            Assert.Null(local.Value);
            if (where == "aborted")
                frontEnd = server.Connect();
        }

        Assert.DoesNotContain(
            server.Logs.All,
            static log => log.Exception?.Message.StartsWith("Leaked", StringComparison.Ordinal) == true);
    }

    [Fact]
    [Contract("A8")]
    public async Task AsyncLocal_SetByMiddleware_SeenByTheCallbacksOfThatRequest()
        => await Parity.AssertAsync(static async (context, seen) =>
        {
            var local = new AsyncLocal<string> { Value = "of the request" };
            context.Response.OnStarting(Apps.Do(() => seen.Note("starting", local.Value)));
            context.Response.OnCompleted(Apps.Do(() => seen.Note("completed", local.Value)));
            await context.Response.StartAsync();
        });

    [Theory]
    [Contract("A9", "A10", "T7")]
    [Values(true, false)]
    public async Task Replaced_BodiesHeadersAndFeatures_NotSeenByTheNextRequest(bool fails)
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            if (context.Request.Path == "/clean")
            {
                var body = await new StreamReader(context.Request.Body).ReadToEndAsync();
                var (headers, isLeak) = (
                    $"{context.Request.Headers["X-Leak"]} {context.Response.Headers["X-Leak"]}",
                    context.TraceIdentifier == "leak");
                var (features, items) = (
                    context.Features.Get<Disposal>() ?? (object?)context.Features.Get<ISessionFeature>(),
                    context.Items.Count);
                await context.Response.WriteAsync($"{body} {headers} {isLeak} {features} {items} "
                    + $"{context.Features.Get<IHttpMaxRequestBodySizeFeature>() is null}");
                return;
            }

            context.Request.Body = new MemoryStream("leak"u8.ToArray());
            context.Response.Body = new MemoryStream();
            context.Features.Get<IHttpRequestFeature>()!.Headers = new HeaderDictionary { ["X-Leak"] = "leak" };
            context.Features.Get<IHttpResponseFeature>()!.Headers = new HeaderDictionary { ["X-Leak"] = "leak" };
            context.TraceIdentifier = "leak";
            context.Items["key"] = "leak";
            context.Features.Set<ISessionFeature>(new DefaultSessionFeature());
            context.Features.Set(new Disposal(static () => { }));
            context.Features.Set<IHttpMaxRequestBodySizeFeature>(null);
            if (fails)
                throw new InvalidOperationException("on purpose");
        }, expects: "ApplicationError");

        for (var i = 0; i < 20; i++)
        {
            Assert.Equal(
                fails ? 500 : 200, (await frontEnd.AskAsync(RecordBytes.Post(1, "/leak", "x"u8.ToArray()))).Status);
            Assert.Equal("own   False  0 False", (await frontEnd.AskAsync(
                RecordBytes.Post(1, "/clean", "own"u8.ToArray()))).Text);
        }
    }

    [Theory]
    [Contract("T8")]
    [Values("flushes many", "throws", "throws later", "aborts", "completes twice", "too little")]
    public async Task Scope_AnyEnding_Released(string ending)
    {
        var released = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(
            app => app.Run(context =>
            {
                _ = context.RequestServices.GetRequiredService<Disposal>();
                return Faults.Misbehaviors.All[ending](context);
            }),
            services: services => services.AddScoped(_ => new Disposal(released.SetResult)),
            expects: "ApplicationError");

        frontEnd.Send(RecordBytes.Get());

        await released.Task.Within("the scope's release");
    }

    [Theory, Values("ABORT_REQUEST", "lost", "Abort()")]
    [Contract("B8")]
    public async Task OnCompleted_OfAnAbortedRequest_CalledOnceWithItsServices(string how)
    {
        var order = new Observations();
        var (isHere, isOver) = (Waiting.Signal(), Waiting.Signal());
        await using var frontEnd = await TestServer.ConnectAsync(
            app => app.Run(async context =>
            {
                context.Response.OnCompleted(async () =>
                {
                    await Task.Yield();
                    order.Note("callback", context.RequestServices.GetRequiredService<Disposal>() is not null);
                });
                if (how == "Abort()")
                    context.Abort();
                isHere.SetResult();
                await Apps.UntilAborted(context);
            }),
            services: services => services.AddScoped(_ => new Disposal(() =>
            {
                order.Note("services", "disposed");
                isOver.SetResult();
            })));

        frontEnd.Send(RecordBytes.Get());
        await isHere.Task.Within("the application");
        if (how == "ABORT_REQUEST")
            frontEnd.Send(RecordBytes.Abort());
        else if (how == "lost")
            frontEnd.Close();

        await isOver.Task.Within("the disposal of the services");
        Assert.Equal(["callback: True", "services: disposed"], order.Lines);
    }

    private static async Task LeakAsync(HttpContext context, AsyncLocal<string> local, string where)
    {
        if (where == "after a wait")
            await Task.Yield();
        if (where == "OnCompleted")
            context.Response.OnCompleted(Apps.Do(() => local.Value = where));
        else if (where == "OnStarting")
            context.Response.OnStarting(Apps.Do(() => local.Value = where));
        else
            local.Value = where;

        if (where == "exception")
            throw new InvalidOperationException("on purpose");
        if (where == "aborted")
            context.Abort();
    }

    private sealed class Disposal(Action onDispose) : IDisposable
    {
        public void Dispose() => onDispose();
    }

    /// <summary>Hosting uses it to create contexts if it is registered.</summary>
    private sealed class FailingContextFactory : IHttpContextFactory
    {
        public HttpContext Create(IFeatureCollection featureCollection)
            => featureCollection.GetRequiredFeature<IHttpRequestFeature>().Path == "/create"
                ? throw new InvalidOperationException("on purpose")
                : new DefaultHttpContext(featureCollection);

        public void Dispose(HttpContext httpContext)
        {
        }
    }
}
