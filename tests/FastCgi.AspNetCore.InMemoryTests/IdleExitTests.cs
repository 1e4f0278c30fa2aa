namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The idle exit fires once after a time without requests, however connections are kept.</summary>
public class IdleExitTests
{
    private static readonly TimeSpan s_limit = TimeSpan.FromSeconds(300);

    private readonly TaskCompletionSource _go = Waiting.Signal();
    private FrontEnd? _kept;

    /// <param name="steps">Seconds that pass, and what web servers do. One second later, the time is over.</param>
    [Theory]
    [InlineData("299")]
    [InlineData("ask 150 ask 299")]
    // Closing a kept connection later does not count as use.
    [InlineData("ask 150 close 149")]
    // No tick has seen this connection.
    [InlineData("150 connect-ask-close 299")]
    [InlineData("150 connect-close 149")]
    [InlineData("begin 600 end 299")]
    // A request counts until its response, also while its params arrive.
    [InlineData("290 params 20 rest 299")]
    // So does a handler whose web server has disconnected.
    [InlineData("begin close 600 return 299")]
    public async Task IdleExit_NoRequestForTheTime_Once(string steps)
    {
        await using var server = await TestServer.StartAsync(
            Apps.After(_go.Task, Apps.Hello, path: "/slow"), static options => options.IdleExit = s_limit);

        foreach (var step in steps.Split(' '))
        {
            await ActAsync(server, step);
            Assert.Equal(0, server.IdleCount);
        }

        server.Clock.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(1, server.IdleCount);
        server.Clock.Advance(2 * s_limit);
        Assert.Equal(1, server.IdleCount);
    }

    [Fact]
    public async Task IdleExit_NoneByDefault_Never()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);

        server.Clock.Advance(2 * s_limit);

        Assert.Equal(0, server.IdleCount);
    }

    private async Task ActAsync(TestServer server, string step)
    {
        if (int.TryParse(step, out var seconds))
        {
            server.Clock.Advance(TimeSpan.FromSeconds(seconds));
            return;
        }

        var frontEnd = step.StartsWith("connect", StringComparison.Ordinal)
            ? server.Connect()
            : _kept ??= server.Connect();
        if (step.Contains("ask"))
            await frontEnd.AskAsync();
        if (step == "begin")
            frontEnd.Send(RecordBytes.Get(uri: "/slow"));
        if (step == "params")
            frontEnd.Send(RecordBytes.Begin());
        if (step == "rest")
            await frontEnd.AskAsync(RecordBytes.ParamsStream(1, RecordBytes.RequestParams()));
        if (step == "end")
        {
            _go.SetResult();
            await frontEnd.ReadResponseAsync();
        }

        if (step == "return")
        {
            _go.SetResult();
            await Waiting.UntilAsync(
                () => TestServer.CountUnfinished(frontEnd.Transport.Connection) == 0, "the handler to return");
        }

        if (step.EndsWith("close", StringComparison.Ordinal))
            frontEnd.Close();
    }
}
