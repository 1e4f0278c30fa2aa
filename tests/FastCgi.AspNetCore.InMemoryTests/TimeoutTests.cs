using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Http;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

public class TimeoutTests
{
    [Fact]
    [Trait("Contract", "G4")]
    public async Task PARAMS_NotCompleteInTime_408AndConnectionClosed()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello, static options => options.Limits.RequestParametersTimeout = TimeSpan.FromSeconds(10));
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Begin());

        server.Clock.Advance(TimeSpan.FromSeconds(9));
        Assert.Empty(frontEnd.ReadAvailable());
        server.Clock.Advance(TimeSpan.FromSeconds(2));

        Assert.Equal(408, (await frontEnd.ReadResponseAsync()).Status);
        Assert.True(frontEnd.Transport.IsClosed);
    }

    [Fact]
    public async Task KeepAliveTimeout_IdleThatLong_ConnectionClosed()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello, static options => options.Limits.KeepAliveTimeout = TimeSpan.FromSeconds(60));
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());
        await frontEnd.ReadResponseAsync();

        server.Clock.Advance(TimeSpan.FromSeconds(59));
        Assert.False(frontEnd.Transport.IsClosed);
        server.Clock.Advance(TimeSpan.FromSeconds(2));

        Assert.True(frontEnd.Transport.IsClosed);
    }

    [Fact]
    [Trait("Contract", "G3")]
    public async Task KeepAliveTimeout_NoneByDefault_ConnectionStaysOpen()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());
        await frontEnd.ReadResponseAsync();

        server.Clock.Advance(TimeSpan.FromHours(1));

        Assert.False(frontEnd.Transport.IsClosed);
        Assert.False(frontEnd.Transport.IsReset);
    }

    [Fact]
    public async Task KeepAliveTimeout_WhileARequestRuns_ConnectionStaysOpen()
    {
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(
            async context =>
            {
                await go.Task;
                await Apps.Hello(context);
            },
            static options => options.Limits.KeepAliveTimeout = TimeSpan.FromSeconds(5));
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());

        server.Clock.Advance(TimeSpan.FromMinutes(5));
        Assert.False(frontEnd.Transport.IsClosed);
        go.SetResult();

        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
    }

    [Fact]
    [Trait("Contract", "E9")]
    [Trait("Contract", "T13")]
    public async Task DrainTimeout_PeerKeepsTheConnectionOpen_Reset()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var frontEnd = server.Connect();
        // Without the end of STDIN, so that there may be more to come.
        frontEnd.Send(RecordBytes.Begin(keepConnection: false), RecordBytes.ParamsStream(1, RecordBytes.RequestParams("GET", "/")));
        await frontEnd.ReadResponseAsync();

        server.Clock.Advance(TimeSpan.FromSeconds(4));
        Assert.False(frontEnd.Transport.IsReset);
        server.Clock.Advance(TimeSpan.FromSeconds(2));

        Assert.True(frontEnd.Transport.IsReset);
    }
}
