using System.Globalization;
using FastCgi.AspNetCore;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Logging;

namespace FastCgi.Client.Tests;

/// <summary>
/// An empty FCGI_GET_VALUES_RESULT that was not requested. With it, our server announces in a graceful shutdown that it
/// closes the connection.
/// </summary>
public sealed class CloseNoticeTests : IDisposable
{
    private static readonly byte[] s_closeNotice = Record(GetValuesResult, 0);

    private readonly ScriptedApplication _application = new();
    private readonly FastCgiClient _client;

    public CloseNoticeTests() => _client = new FastCgiClient(
        _application.Address, new FastCgiClientOptions { KeepConnections = true, MaxConnections = 1 });

    [Theory, Values(0, 7)]
    public async Task CloseNotice_AfterTheEnd_SplitAnywhere_ClosesTheConnection(int padding)
    {
        var notice = Record(GetValuesResult, 0, padding: padding);
        byte[] answer = [.. ScriptedConnection.Answer("A: b\n\nhello"), .. notice];
        for (var split = 0; split < answer.Length - padding; split++)
        {
            var (connection, sending) = await _application.BeginAsync(_client);
            await connection.SendAsync(answer[..split]);
            await Task.Yield();
            await connection.SendAsync(answer[split..]);

            Assert.Equal("hello", await Requests.ReadAsync(sending));
            Assert.Null(await connection.ReadRecordAsync());
        }
    }

    /// <summary>The next request may already have been sent: the application has not executed it.</summary>
    [Theory, Values("GET", "POST")]
    public async Task CloseNotice_BeforeTheNextAnswer_SendsTheRequestAgain(string method)
    {
        var (connection, first) = await _application.BeginAsync(_client);
        await connection.SendAsync(ScriptedConnection.Answer("A: b\n\nfirst"));
        Assert.Equal("first", await Requests.ReadAsync(first));
        var next = _client.SendAsync(Requests.Create(method));
        await connection.ReadRequestAsync();
        await connection.SendAsync(s_closeNotice);

        Assert.Null(await connection.ReadRecordAsync());
        await _application.AnswerAsync("A: b\n\nagain");
        Assert.Equal("again", await Requests.ReadAsync(next));
    }

    [Fact]
    public async Task CloseNotice_InTheAnswer_LetsItEnd()
    {
        var (connection, sending) = await _application.BeginAsync(_client);
        await connection.SendAsync([.. Record(Stdout, 1, "A: b\n\nhel"u8), .. s_closeNotice]);
        await connection.SendAsync([.. Record(Stdout, 1, "lo"u8), .. ScriptedConnection.EndOfRequest()]);

        Assert.Equal("hello", await Requests.ReadAsync(sending));
        Assert.Null(await connection.ReadRecordAsync());
    }

    [Fact]
    public async Task CloseNotice_OnAnIdleConnection_ClosesIt()
    {
        var (connection, first) = await _application.BeginAsync(_client);
        await connection.SendAsync(ScriptedConnection.Answer("A: b\n\nhello"));
        Assert.Equal("hello", await Requests.ReadAsync(first));
        // The second request proves that the connection was idle.
        var second = _client.GetAsync();
        await connection.AnswerAsync("A: b\n\nhello");
        await second;
        await connection.SendAsync(s_closeNotice);

        Assert.Null(await connection.ReadRecordAsync());
        var (other, third) = await _application.BeginAsync(_client);
        await other.SendAsync(ScriptedConnection.Answer("A: b\n\nnew"));
        Assert.Equal("new", await Requests.ReadAsync(third));
    }

    /// <summary>A new connection is like a reused one. An application that refuses all is not asked for ever.</summary>
    [Theory]
    [InlineData("GET", 1)]
    [InlineData("GET", 4)]
    [InlineData("POST", 1)]
    [InlineData("POST", 4)]
    public async Task CloseNotice_BeforeTheFirstAnswer_IsSentAgain(string method, int refusals)
    {
        var sending = _client.SendAsync(Requests.Create(method));
        for (var i = 0; i < refusals; i++)
        {
            var connection = await _application.AcceptRequestAsync();
            await connection.SendAsync(s_closeNotice);
        }

        if (refusals == 1)
        {
            await _application.AnswerAsync("A: b\n\nagain");
            Assert.Equal("again", await Requests.ReadAsync(sending));
            return;
        }

        Assert.Equal(FastCgiProtocolError.ConnectionClosed, (await sending.FailAsync()).Error);
        Assert.True(_application.HasNoOther());
    }

    /// <summary>
    /// The listening socket outlives the servers, like a systemd socket, so that connections wait in its queue.
    /// Requests wait for connections, and responses end near the 32 KiB of a receive: a close notice may follow when
    /// the next request begins.
    /// </summary>
    [Fact]
    public async Task Server_RestartedGracefully_LosesNoGet()
    {
        const int Restarts = 12, Loops = 8;
        var answers = new int[Restarts + 1];
        using var folder = new ScratchFolder();
        using var logs = new CollectedLogs();
        using var listener = TestSockets.ListenUnix(folder.GetPath("app.sock"));
        var address = string.Create(CultureInfo.InvariantCulture, $"fastcgi://fd:{listener.Handle}");
        var options = new FastCgiClientOptions { KeepConnections = true, MaxConnections = Loops / 2 };
        using var client = new FastCgiClient(folder.GetPath("app.sock"), options);
        var server = await StartServerAsync(address, logs, 0);
        using var end = new CancellationTokenSource();
        var loops = Enumerable.Range(0, Loops).Select(_ => Task.Run(() => LoopAsync(end.Token))).ToArray();
        for (var restart = 1; restart <= Restarts; restart++)
        {
            var previous = restart - 1;
            await Waiting.UntilAsync(
                () => loops.Any(static loop => loop.IsFaulted) || Volatile.Read(ref answers[previous]) > 10 * Loops,
                "responses");
            await server.StopAsync();
            await server.DisposeAsync();
            server = await StartServerAsync(address, logs, restart);
        }

        await end.CancelAsync();
        await Task.WhenAll(loops).Within("the last answers");
        await server.DisposeAsync();
        Assert.Empty(logs.UnexpectedErrors.Select(static log => $"{log.Message} {log.Exception}"));

        async Task LoopAsync(CancellationToken cancellationToken)
        {
            for (var i = 0; !cancellationToken.IsCancellationRequested; i++)
                Interlocked.Increment(ref answers[(await client.GetAsync($"/{32_500 + (i % 256)}"))[0]]);
        }
    }

    public void Dispose()
    {
        _client.Dispose();
        _application.Dispose();
    }

    private static async Task<WebApplication> StartServerAsync(string address, CollectedLogs logs, int number)
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.UseFastCgi(static options
            => options.Limits.ShutdownIdleGracePeriod = TimeSpan.FromMilliseconds(50));
        builder.WebHost.UseUrls(address);
        builder.Logging.ClearProviders().AddProvider(logs);
        var application = builder.Build();
        application.MapGet("/{length}", (int length) => new string((char)number, length));
        await application.StartAsync();
        return application;
    }
}
