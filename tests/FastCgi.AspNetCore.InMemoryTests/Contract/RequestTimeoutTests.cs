using Microsoft.AspNetCore.Http.Timeouts;
using Microsoft.AspNetCore.Routing;

namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>The time-outs of ASP.NET Core, for which the server needs none of its own. ParityTests ask Kestrel the same.</summary>
public class RequestTimeoutTests
{
    private static readonly TimeSpan s_short = TimeSpan.FromMilliseconds(30);

    // A handler that is to begin before it fires does so on a busy machine too.
    private static readonly TimeSpan s_long = TimeSpan.FromSeconds(2);

    [Theory]
    [Trait("Contract", "J")]
    [Trait("Contract", "F4")]
    [InlineData("/default", 504, "")]
    [InlineData("/policy", 503, "too late")]
    [InlineData("/own", 504, "")]
    public async Task Timeout_OfThePolicy_FiresTheTokenAndAnswers(string path, int status, string text)
    {
        await using var frontEnd = await StartAsync();

        // Again on the same request objects: a token that has fired is not the next one's.
        for (var i = 0; i < 20; i++)
        {
            var response = await frontEnd.AskAsync(RecordBytes.Get(uri: path));
            Assert.Equal((status, text), (response.Status, response.Text));

            Assert.Equal("False", (await frontEnd.AskAsync(RecordBytes.Get(uri: "/quick"))).Text);
        }
    }

    [Theory]
    [Trait("Contract", "J")]
    [Values("/disabled", "/disables")]
    public async Task Timeout_Disabled_DoesNotFire(string path)
    {
        await using var frontEnd = await StartAsync();
        var (patient, other) = (frontEnd, frontEnd.Server.Connect());
        patient.Send(RecordBytes.Get(uri: path));

        // Another that begins later is over the same time.
        Assert.Equal(504, (await other.AskAsync(RecordBytes.Get(uri: "/later"))).Status);

        Assert.Empty(patient.ReadAvailable());
        await other.AskAsync(RecordBytes.Get(uri: "/go"));
        Assert.Equal("False", (await patient.ReadResponseAsync()).Text);
    }

    [Fact]
    [Trait("Contract", "F1")]
    [Trait("Contract", "F4")]
    public async Task Abort_OfTheClient_FiresTheTokenOfTheTimeoutToo()
    {
        await using var frontEnd = await StartAsync();
        var aborted = frontEnd.Server.Services.GetRequiredService<TaskCompletionSource<bool>>();
        frontEnd.Send(RecordBytes.Get(uri: "/long"));

        frontEnd.Close();

        Assert.True(await aborted.Task.Within("the abort"));
    }

    [Fact]
    [Trait("Contract", "B10")]
    public async Task Timeout_BehindTheStartOfTheResponse_IsCut()
    {
        await using var frontEnd = await StartAsync();
        frontEnd.Server.Logs.Expected.Add("ApplicationError");

        frontEnd.Send(RecordBytes.Get(uri: "/started"));

        Assert.True((await frontEnd.ReadOutcomeAsync()).IsCut);
    }

    private static Task<FrontEnd> StartAsync()
    {
        var go = Waiting.Signal();
        var aborted = Waiting.Signal<bool>();
        return TestServer.ConnectAsync(
            app => app.UseRouting().UseRequestTimeouts().UseEndpoints(endpoints => Map(endpoints, go, aborted)),
            services: services => services.AddRouting().AddSingleton(aborted).AddRequestTimeouts(static options =>
            {
                options.DefaultPolicy = new RequestTimeoutPolicy { Timeout = s_short };
                options.AddPolicy("told", new RequestTimeoutPolicy
                {
                    Timeout = s_short,
                    TimeoutStatusCode = StatusCodes.Status503ServiceUnavailable,
                    WriteTimeoutResponse = static context => context.Response.WriteAsync("too late"),
                });
            }));
    }

    private static void Map(IEndpointRouteBuilder endpoints, TaskCompletionSource go, TaskCompletionSource<bool> aborted)
    {
        endpoints.MapGet("/default", Apps.UntilAborted);
        endpoints.MapGet("/policy", Apps.UntilAborted).WithRequestTimeout("told");
        endpoints.MapGet("/own", Apps.UntilAborted).WithRequestTimeout(s_short * 2);
        endpoints.MapGet("/later", Apps.UntilAborted).WithRequestTimeout(s_long);
        endpoints.MapGet("/quick", static context => context.Response.WriteAsync($"{context.RequestAborted.IsCancellationRequested}")).WithRequestTimeout(s_long);
        endpoints.MapGet("/disabled", context => WaitAsync(context, go.Task)).DisableRequestTimeout();
        endpoints.MapGet("/disables", context =>
        {
            context.Features.GetRequiredFeature<IHttpRequestTimeoutFeature>().DisableTimeout();
            return WaitAsync(context, go.Task);
        }).WithRequestTimeout(s_long);
        endpoints.MapGet("/go", context =>
        {
            go.SetResult();
            return Apps.Hello(context);
        }).WithRequestTimeout(s_long);
        endpoints.MapGet("/long", async context =>
        {
            context.RequestAborted.Register(() => aborted.TrySetResult(context.RequestAborted.IsCancellationRequested));
            await aborted.Task;
        }).WithRequestTimeout(TimeSpan.FromDays(1));
        endpoints.MapGet("/started", async context =>
        {
            await context.Response.WriteAsync("begun");
            await context.Response.Body.FlushAsync();
            await Apps.UntilAborted(context);
        });
    }

    private static async Task WaitAsync(HttpContext context, Task go)
    {
        await go;
        await context.Response.WriteAsync($"{context.RequestAborted.IsCancellationRequested}");
    }
}
