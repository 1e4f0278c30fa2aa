using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>What is done after the end of a request (reports, statistics, callbacks, hosting's clean-up) can fail, and keeps nothing from being done.</summary>
public sealed class ReportFailureTests
{
    // More than the requests that a connection may have unfinished.
    private const int Enough = 250;

    [Theory]
    [InlineData("app")]
    [InlineData("/a%00b")]
    [InlineData("a\0b")]
    [InlineData("%")]
    [InlineData("//")]
    [InlineData("?")]
    public async Task NotFound_WithAPathBaseThatIsNone_IsAnsweredAndTheConnectionGoesOn(string pathBase)
    {
        await using var server = await TestServer.StartAsync(static context =>
        {
            context.Response.StatusCode = StatusCodes.Status404NotFound;
            return Task.CompletedTask;
        });
        var frontEnd = server.Connect();

        for (var i = 0; i < Enough; i++)
        {
            frontEnd.Send(RecordBytes.Get(uri: "/app/%00", more: ("PATH_BASE", pathBase)));
            Assert.InRange((await frontEnd.ReadResponseAsync()).Status, 400, 404);
        }
    }

    /// <summary>Each step fails in its turn: the log of a report, a callback, the disposal of the request's services.</summary>
    [Theory]
    [InlineData("log")]
    [InlineData("callback")]
    [InlineData("dispose")]
    [InlineData("feature")]
    public async Task Step_ThatThrows_LeavesTheOthersAndTheConnection(string step)
    {
        var (completed, disposed) = (0, 0);
        await using var server = await TestServer.StartAsync(
            app => app.Run(context =>
            {
                context.Response.StatusCode = StatusCodes.Status404NotFound;
                context.Response.OnCompleted(() =>
                {
                    completed++;
                    return Task.CompletedTask;
                });
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
                return Task.CompletedTask;
            }),
            options => options.PathBase = "/app",
            services =>
            {
                services.AddScoped<Scoped>();
                if (step == "log")
                    services.AddSingleton<ILoggerProvider>(new EventProvider("PathBaseNotMatched", static () => throw new InvalidOperationException("on purpose")));
            });
        server.Logs.Expected.Add("ApplicationError");
        server.Logs.Expected.Add("DisposeContextFailed");
        server.Logs.Expected.Add("RequestEndFailed");
        var frontEnd = server.Connect();

        for (var i = 0; i < Enough; i++)
        {
            frontEnd.Send(RecordBytes.Get(uri: "/other"));
            Assert.Equal(step == "feature" ? 500 : 404, (await frontEnd.ReadResponseAsync()).Status);
        }

        await Waiting.UntilAsync(() => (completed, disposed) == (Enough, Enough), "all callbacks and disposals");
    }

    /// <summary>A callback that takes long does not hold up the requests that follow on the connection.</summary>
    [Fact]
    public async Task OnCompleted_ThatRunsLong_DoesNotCountAgainstTheConnection()
    {
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(context =>
        {
            context.Response.OnCompleted(() => go.Task);
            return Apps.Hello(context);
        });
        var frontEnd = server.Connect();

        for (var i = 0; i < Enough; i++)
        {
            frontEnd.Send(RecordBytes.Get());
            Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
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
