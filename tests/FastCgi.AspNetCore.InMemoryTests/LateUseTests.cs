using Microsoft.AspNetCore.Routing;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Odd but legal uses of a request: none hangs, is lost, or reaches another request.</summary>
public sealed class LateUseTests
{
    /// <summary>
    /// The web server treats any status below 400 as permission, so only the first authorizer's response may have one.
    /// </summary>
    [Theory, Values("exception", "status", "branch", "shortcut", "redirect", "afterwards", "meanwhile", "cleared")]
    public async Task Authorizer_AnotherMiddlewareAnswers_DoesNotAllow(string how)
    {
        static void SetRole(FastCgiServerOptions options) => options.Roles.Add(FastCgiRole.Authorizer);
        await using var server = await TestServer.StartAsync(Configure, SetRole, AddRouting);
        server.Logs.Expected.UnionWith(["ApplicationError", "UnhandledException"]);

        Assert.InRange(await AskAsync("/secret"), 400, 599);
        // What the authorizer has allowed is sent, so that to clear it is too late, and cuts the answer.
        if (how != "cleared")
            Assert.Equal(how is "shortcut" or "redirect" or "meanwhile" ? 500 : 200, await AskAsync("/public"));

        async Task<int> AskAsync(string path)
        {
            var frontEnd = server.Connect();
            frontEnd.Send(RecordBytes.Begin(1, 2), RecordBytes.ParamsStream(1, RecordBytes.RequestParams("GET", path)));
            return (await frontEnd.ReadResponseAsync(isStatusFirst: true)).Status;
        }

        void Configure(IApplicationBuilder app)
        {
            if (how == "exception")
                app.UseExceptionHandler("/error");
            if (how == "status")
                app.UseStatusCodePagesWithReExecute("/error");
            app.UseRouting();
            if (how == "branch")
                app.Map(
                    "/secret", static branch => branch.Run(static context => context.Response.WriteAsync("a page")));
            if (how == "shortcut")
                app.Use(static (HttpContext context, RequestDelegate _) => context.Response.WriteAsync("maintenance"));
            if (how == "redirect")
                app.Use(static (HttpContext context, RequestDelegate _) => Task.Run(
                    () => context.Response.StatusCode = 307));
            if (how == "afterwards")
                app.Use(AllowAfterwardsAsync);
            if (how == "meanwhile")
                app.Use(static (context, next) =>
                {
                    _ = next(context);
                    return context.Response.WriteAsync("Try again later.");
                });
            if (how == "cleared")
                app.Use(static async (context, next) =>
                {
                    await next(context);
                    context.Response.Clear();
                    await context.Response.WriteAsync("Sorry.");
                });
            app.UseEndpoints(endpoints => endpoints.MapFastCgiAuthorizer("/{**path}", IsAllowed));
        }

        static async Task AllowAfterwardsAsync(HttpContext context, RequestDelegate next)
        {
            await next(context);
            if (!context.Response.HasStarted)
                context.Response.StatusCode = 200;
        }

        ValueTask<bool> IsAllowed(HttpContext context)
        {
            if (how == "meanwhile")
                return new ValueTask<bool>(Task.Delay(Timeout.Infinite, context.RequestAborted).ContinueWith(
                    static _ => false, TaskScheduler.Default));
            if (context.Request.Path != "/secret")
                return ValueTask.FromResult(true);

            return how == "exception" ? throw new InvalidOperationException(
                "This is meant to fail.") : ValueTask.FromResult(false);
        }

        static void AddRouting(IServiceCollection services)
        {
            services.AddRouting();
            services.Configure<FastCgiServerOptions>(SetRole);
            services.AddSingleton<MatcherPolicy, RoleMatcherPolicy>();
        }
    }

    /// <summary>
    /// After the end of the response, no more of the body arrives: a read returns the available bytes, and then fails
    /// instead of waiting forever.
    /// </summary>
    [Theory, Values(true, false)]
    public async Task Body_ReadAfterTheResponseIsComplete_EndsAndGivesItsPlaceBack(bool isStarted)
    {
        var error = Waiting.Signal<Exception?>();
        await using var server = await TestServer.StartAsync(
            HandleAsync,
            static options => (options.Limits.MaxConcurrentRequests, options.Limits.RequestQueueLimit) = (1, 1));
        var frontEnd = server.Connect();

        frontEnd.Send(RecordBytes.PostHead(10), RecordBytes.Record(RecordBytes.Stdin, 1, "01234"u8));

        Assert.IsType<BadHttpRequestException>(await error.Task);
        frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1, "56789"u8), RecordBytes.Record(RecordBytes.Stdin, 1));
        var next = server.Connect();
        Assert.Equal(200, (await next.AskAsync()).Status);

        async Task HandleAsync(HttpContext context)
        {
            if (context.Request.Method == "GET")
            {
                await Apps.Hello(context);
                return;
            }

            var buffer = new byte[100];
            var length = isStarted ? await context.Request.Body.ReadAsync(buffer) : 0;
            var reading = isStarted ? context.Request.Body.ReadAsync(buffer).AsTask() : null;
            await context.Response.WriteAsync("x");
            await context.Response.CompleteAsync();
            error.SetResult(await Record.ExceptionAsync(async () =>
            {
                while (length < 10)
                    length += reading is null ? await context.Request.Body.ReadAsync(buffer) : await reading;
            }));
        }
    }

    /// <summary>
    /// Objects that the callbacks use, such as the request's services, exist until the callbacks have ended, even if
    /// the client has disconnected.
    /// </summary>
    [Fact]
    public async Task Stop_WhileACallbackRuns_WaitsForIt()
    {
        var (entered, go) = (Waiting.Signal(), Waiting.Signal());
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Do(
            context => context.Response.OnCompleted(() =>
            {
                entered.SetResult();
                return go.Task;
            })));
        frontEnd.Send(RecordBytes.Get(keepConnection: false));
        await entered.Task.Within("the callback");
        frontEnd.Close();

        var stopping = frontEnd.Server.StopAsync();

        await Waiting.UntilAsync(
            () => frontEnd.Server.Connections is { IsStopping: true, Count: 0 }, "the connection to go");
        Assert.False(stopping.IsCompleted);
        go.SetResult();
        await stopping.Within("the stop");
    }
}
