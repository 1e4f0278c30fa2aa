namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>The client disconnects before it has its response.</summary>
public sealed class ClientGoneTests(ITestOutputHelper output) : FrontEndTest(output)
{
    private const string Get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

    [Theory]
    [EveryFrontEnd(false, Needs = [Ability.NoticedClient], IsHttp1 = true)]
    [EveryFrontEnd(true, Needs = [Ability.NoticedClient], IsHttp1 = true)]
    public async Task ClientGone_WhileTheHandlerWaits_RequestIsAborted(FrontEndSetup setup, bool isReset)
    {
        var isEntered = new TaskCompletionSource();
        var isAborted = new TaskCompletionSource();
        var site = await StartAsync(setup, app => app.MapGet("/", async (HttpContext context) =>
        {
            await using var registration = context.RequestAborted.Register(isAborted.SetResult);
            isEntered.SetResult();
            await isAborted.Task.WaitAsync(Patience);
        }));
        using var client = await site.ConnectAsync();

        await client.SendAsync(Get);
        await isEntered.Task.WaitAsync(Patience);
        client.Close(isReset);

        await isAborted.Task.WaitAsync(Patience);
    }

    [Theory]
    [EveryFrontEnd(IsHttp1 = true, Kinds = [FrontEndKind.Nginx, FrontEndKind.Apache])]
    [EveryFrontEnd(IsHttp1 = true, StreamsResponses = true)]
    public async Task ClientGone_WhileTheHandlerWrites_RequestIsAborted(FrontEndSetup setup)
    {
        ExpectsFrontEndErrors = true;
        var isEntered = new TaskCompletionSource();
        var isGone = new TaskCompletionSource();
        var isAborted = new TaskCompletionSource();
        var site = await StartAsync(setup, app => app.MapGet("/", async (HttpContext context) =>
        {
            await using var registration = context.RequestAborted.Register(isAborted.SetResult);
            isEntered.SetResult();
            await isGone.Task.WaitAsync(Patience);
            var piece = new byte[64 * 1024];
            while (!isAborted.Task.IsCompleted)
                await context.Response.Body.WriteAsync(piece);
        }));
        using var client = await site.ConnectAsync();

        await client.SendAsync(Get);
        await isEntered.Task.WaitAsync(Patience);
        client.Close(isReset: true);
        isGone.SetResult();

        await isAborted.Task.WaitAsync(Patience);
    }

    [Theory, EveryFrontEnd(StreamsRequests = true, IsHttp1 = true)]
    public async Task ClientGone_InMidUpload_ReadFailsAndRequestIsAborted(FrontEndSetup setup)
    {
        ExpectsFrontEndErrors = true;
        var isEntered = new TaskCompletionSource();
        var isAborted = new TaskCompletionSource();
        var failure = new TaskCompletionSource<Exception?>();
        var site = await StartAsync(setup, app => app.MapPost("/", async (HttpContext context) =>
        {
            await using var registration = context.RequestAborted.Register(isAborted.SetResult);
            await context.Request.Body.ReadExactlyAsync(new byte[5]);
            isEntered.SetResult();
            failure.SetResult(await Record.ExceptionAsync(() => context.Request.Body.CopyToAsync(Stream.Null)));
            await isAborted.Task.WaitAsync(Patience);
        }));
        using var client = await site.ConnectAsync();

        await client.SendAsync(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" + new string('x', 500_000));
        await isEntered.Task.WaitAsync(Patience);
        client.Close(isReset: false);

        Assert.IsAssignableFrom<IOException>(await failure.Task.WaitAsync(Patience));
        await isAborted.Task.WaitAsync(Patience);
    }
}
