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
    public async Task Connection_ThatNeverSendsAnything_ClosedInTheTimeOfParams()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var frontEnd = server.Connect();

        server.Clock.Advance(TimeSpan.FromSeconds(29));
        Assert.False(frontEnd.Transport.IsClosed);
        server.Clock.Advance(TimeSpan.FromSeconds(2));

        Assert.True(frontEnd.Transport.IsClosed);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GET_VALUES_WithoutItsEnd_ResetInTheTimeOfParams(bool isAfterARequest)
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var frontEnd = server.Connect();
        if (isAfterARequest)
        {
            frontEnd.Send(RecordBytes.Get());
            await frontEnd.ReadResponseAsync();
            server.Clock.Advance(TimeSpan.FromHours(1));
        }

        // A header that claims 60,000 bytes, and now and then one of them.
        frontEnd.Send(RecordBytes.Record(9, 0, new byte[60_000])[..9]);
        server.Clock.Advance(TimeSpan.FromSeconds(20));
        frontEnd.Send([0]);
        Assert.False(frontEnd.Transport.IsReset);
        server.Clock.Advance(TimeSpan.FromSeconds(11));

        Assert.True(frontEnd.Transport.IsReset);
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
