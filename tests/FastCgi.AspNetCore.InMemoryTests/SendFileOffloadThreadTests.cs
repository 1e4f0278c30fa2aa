namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A file that is left to the web server, while something else changes the response: the change is sent, or refused.</summary>
public sealed class SendFileOffloadThreadTests : SendFileOffloadTest
{
    private const int Rounds = 100;

    [Theory, Values("status", "header", "length", "reason")]
    public async Task Change_BehindTheDecision_IsRefused(string change)
    {
        HttpContext? current = null;
        Exception? seen = null;
        await using var frontEnd = await TestServer.ConnectAsync(
            app => app.Run(context =>
            {
                current = context;
                return Whole(context);
            }),
            options => UseNginx(options.SendFile),
            services => services.AddSingleton<ILoggerProvider>(new EventProvider("FileOffloaded", () => seen = Record.Exception(() => Change(current!.Response, change)))));

        var response = await frontEnd.AskAsync();
        Assert.IsType<InvalidOperationException>(seen);
        Assert.Equal(
            ("/protected/a%20file.bin", "application/x-test", null, "1000"),
            (response["X-Accel-Redirect"], response["Content-Type"], response["Vary"], response["Content-Length"]));
        Assert.Equal("200 OK", response.StatusLine);
    }

    [Fact]
    public async Task Status_ChangedWhileTheFileIsLeft_IsSentOrRefused()
    {
        Task<bool>? setter = null;
        await using var frontEnd = await TestServer.ConnectAsync(
            app => app.Run(async context =>
            {
                // HttpResponse itself is not made for two threads that use it first.
                _ = context.Response.StatusCode;
                using var start = new Barrier(2);
                setter = Task.Factory.StartNew(
                    () =>
                    {
                        start.SignalAndWait(Waiting.Patience);
                        Thread.SpinWait(Random.Shared.Next(20_000));
                        return Record.Exception(() => context.Response.StatusCode = 404) is null;
                    },
                    TaskCreationOptions.LongRunning);
                start.SignalAndWait(Waiting.Patience);
                await Whole(context);
                await setter;
            }),
            options => UseNginx(options.SendFile));

        for (var round = 0; round < Rounds; round++)
        {
            var response = await frontEnd.AskAsync();
            var isTaken = await setter!.Within("the other thread");

            Assert.Equal(isTaken ? (404, null) : (200, "/protected/a%20file.bin"), (response.Status, response["X-Accel-Redirect"]));
        }
    }

    [Fact]
    public async Task Encoding_ThatFailsBehindTheDecision_500()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            app => app.Run(Whole),
            options =>
            {
                UseNginx(options.SendFile);
                options.ResponseHeaderEncodingSelector = static name => name == "X-Accel-Redirect" ? throw new FormatException("on purpose") : null;
            }, expects: "ApplicationError");

        var response = await frontEnd.AskAsync();
        Assert.Equal((500, "0", null), (response.Status, response["Content-Length"], response["X-Accel-Redirect"]));
    }

    private static void Change(HttpResponse response, string what)
    {
        switch (what)
        {
            case "status":
                response.StatusCode = 404;
                break;
            case "header":
                response.Headers.Vary = "Accept";
                break;
            case "length":
                response.ContentLength = 5;
                break;
            default:
                response.HttpContext.Features.Get<Microsoft.AspNetCore.Http.Features.IHttpResponseFeature>()!.ReasonPhrase = "Mine";
                break;
        }
    }
}
