namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A file that is left to the web server, while something else changes the response: the change is sent, or refused.</summary>
public sealed class SendFileOffloadThreadTests : SendFileOffloadTest
{
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
