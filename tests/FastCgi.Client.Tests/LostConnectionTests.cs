using FastCgi.AspNetCore.InMemoryTests;

namespace FastCgi.Client.Tests;

/// <summary>What cannot be sent: because the application is gone, or because the source of a body fails.</summary>
public sealed class LostConnectionTests : IDisposable
{
    // More than a response may have unread.
    private static readonly byte[] s_large = new byte[60_000];

    private readonly ScriptedApplication _application = new();

    /// <summary>It looks like a socket that was closed, and is not: the request fails, and the room that it had is there for the next.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task BodySource_DisposedOf_FailsTheRequestAlone(bool isSocketException)
    {
        using var client = CreateClient(FastCgiMultiplexing.Ask, maxConnections: 1);
        Exception failure = isSocketException ? new System.Net.Sockets.SocketException(32) : new ObjectDisposedException("the body");

        var sending = client.SendAsync(Requests.Create("POST", body: new FailingStream(failure)));

        Assert.Same(failure, await Xunit.Record.ExceptionAsync(() => sending.Within("the failure")));
        // The application has no end of its input, so that the connection is of no use.
        Assert.NotNull(await (await _application.AcceptAsync()).ReadRecordAsync());
        var next = client.GetAsync();
        var connection = await _application.AcceptAsync();
        await connection.ReadRequestAsync();
        await connection.SendAsync(ScriptedConnection.Answer("A: b\n\nnext"));
        Assert.Equal("next", await next);
    }

    /// <summary>The end of the connection is not seen while an answer is not read. What begins meanwhile is sent on another one.</summary>
    [Theory]
    [InlineData("GET")]
    [InlineData("POST")]
    public async Task Request_BehindAnAnswerThatIsNotRead_OfAnApplicationThatIsGone_IsSentElsewhere(string method)
    {
        using var client = CreateClient(FastCgiMultiplexing.Always, maxConnections: 2);
        var unread = client.SendAsync(Requests.Create());
        var first = await _application.AcceptAsync();
        await first.ReadRequestAsync();
        await first.SendAsync([.. Record(Stdout, 1, "A: b\n\n"u8), .. Record(Stdout, 1, s_large)]);
        using var response = await unread.Within("the head");
        first.Dispose();

        var next = client.SendAsync(Requests.Create(method, body: method == "POST" ? new MemoryStream([1]) : null));
        var second = await _application.AcceptAsync();
        await second.ReadRequestAsync();
        await second.SendAsync(ScriptedConnection.Answer("A: b\n\nnext"));
        using var answer = await next.Within("the answer");
        Assert.Equal("next", await answer.ReadTextAsync());

        var exception = await response.Body.CopyToAsync(Stream.Null).FailAsync();
        Assert.Equal(FastCgiProtocolError.ConnectionClosed, exception.Error);
    }

    public void Dispose() => _application.Dispose();

    private FastCgiClient CreateClient(FastCgiMultiplexing multiplexing, int maxConnections)
        => new(_application.Address, new FastCgiClientOptions { MaxConnections = maxConnections, MaxRequestsPerConnection = 10, Multiplexing = multiplexing, MaxResponseBufferSize = 10_000 });

    /// <summary>A stream that cannot be copied.</summary>
    private sealed class FailingStream(Exception failure) : MemoryStream
    {
        public override Task CopyToAsync(Stream destination, int bufferSize, CancellationToken cancellationToken) => Task.FromException(failure);
    }
}
