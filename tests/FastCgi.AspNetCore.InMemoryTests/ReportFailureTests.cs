namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// Each step after the end of a request (reports, statistics, callbacks, hosting's cleanup) can fail without preventing
/// the others.
/// </summary>
public sealed class ReportFailureTests
{
    // More than the requests that a connection may have unfinished.
    private const int Enough = 250;

    /// <summary>Each step fails in turn: the log of a report, a callback, the disposal of services.</summary>
    [Theory, Values("log", "callback", "dispose", "feature")]
    public async Task Step_ThatThrows_LeavesTheOthersAndTheConnection(string step)
    {
        var (completed, disposed) = (0, 0);
        await using var frontEnd = await TestServer.ConnectAsync(
            app => app.Run(Apps.Do(context =>
            {
                context.Response.StatusCode = StatusCodes.Status404NotFound;
                context.Response.OnCompleted(Apps.Do(() => completed++));
                if (step == "callback")
                    context.Response.OnCompleted(static () => throw new InvalidOperationException("on purpose"));
                context.RequestServices.GetRequiredService<Scoped>().Disposed = () =>
                {
                    disposed++;
                    if (step == "dispose")
                        throw new InvalidOperationException("on purpose");
                };
                if (step == "feature")
                    context.Features.GetRequiredFeature<IHttpResponseFeature>().Headers = null!;
            })),
            options => options.PathBase = "/app",
            services =>
            {
                services.AddScoped<Scoped>();
                if (step == "log")
                    services.AddSingleton<ILoggerProvider>(new ActingLogs(
                        "PathBaseNotMatched", static () => throw new InvalidOperationException("on purpose")));
            });
        frontEnd.Server.Logs.Expected.Add("ApplicationError");
        frontEnd.Server.Logs.Expected.Add("DisposeContextFailed");
        frontEnd.Server.Logs.Expected.Add("RequestEndFailed");

        for (var i = 0; i < Enough; i++)
            Assert.Equal(
                step == "feature" ? 500 : 404, (await frontEnd.AskAsync(RecordBytes.Get(uri: "/other"))).Status);

        await Waiting.UntilAsync(() => (completed, disposed) == (Enough, Enough), "all callbacks and disposals");
    }

    [Fact]
    public async Task OnCompleted_ThatRunsLong_DoesNotCountAgainstTheConnection()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(context =>
        {
            context.Response.OnCompleted(() => go.Task);
            return Apps.Hello(context);
        });

        for (var i = 0; i < Enough; i++)
        {
            Assert.Equal("Hello", (await frontEnd.AskAsync()).Text);
            Assert.False(frontEnd.IsPaused);
        }

        go.SetResult();
    }

    private sealed class Scoped : IDisposable
    {
        public Action Disposed { get; set; } = static () => { };

        public void Dispose() => Disposed();
    }
}
