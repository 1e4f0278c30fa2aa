using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Http;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

public class ShutdownTests
{
    [Fact]
    [Trait("Contract", "G1")]
    public async Task Stop_IdleConnection_ClosedAtOnce()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());
        await frontEnd.ReadResponseAsync();

        var stopping = server.StopAsync();
        Assert.True(frontEnd.Transport.IsClosed);
        frontEnd.Close();

        await stopping.Within("the stop");
    }

    [Fact]
    [Trait("Contract", "G1")]
    public async Task Stop_RunningRequest_AnsweredAndThenClosed()
    {
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(async context =>
        {
            await go.Task;
            await Apps.Hello(context);
        });
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());

        var stopping = server.StopAsync();
        Assert.False(frontEnd.Transport.IsClosed);
        go.SetResult();
        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.IsClosed, "the close");
        frontEnd.Close();

        await stopping.Within("the stop");
    }

    [Fact]
    [Trait("Contract", "G1")]
    [Trait("Contract", "I21")]
    public async Task Stop_TokenFires_RestAborted()
    {
        var aborted = Waiting.Signal();
        await using var server = await TestServer.StartAsync(async context =>
        {
            context.RequestAborted.Register(aborted.SetResult);
            await aborted.Task;
        });
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());
        using var patience = new CancellationTokenSource();

        var stopping = server.StopAsync(patience.Token);
        await patience.CancelAsync();

        await stopping.Within("the stop");
        Assert.True(frontEnd.Transport.IsReset);
        await aborted.Task.Within("the abort");
    }

    [Fact]
    public async Task Stop_FurtherRequestOnABusyConnection_Answered()
    {
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(async context =>
        {
            if (context.Request.Path == "/slow")
                await go.Task;
            await Apps.Target(context);
        });
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get(1, "/slow"));
        var stopping = server.StopAsync();

        frontEnd.Send(RecordBytes.Get(2, "/late"));
        Assert.Equal("GET /late", (await frontEnd.ReadResponseAsync(2)).Text);
        go.SetResult();
        Assert.Equal("GET /slow", (await frontEnd.ReadResponseAsync()).Text);
        frontEnd.Close();

        await stopping.Within("the stop");
    }

    [Fact]
    public async Task Stop_NewConnection_Rejected()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);

        await server.StopAsync();

        Assert.ThrowsAny<Exception>(() => server.Connect());
    }
}
