using System.Net;
using System.Net.Sockets;
using System.Text;
using FastCgi.AspNetCore.Hosting;
using FastCgi.AspNetCore.SocketTests.Hosting;
using FastCgi.AspNetCore.Status;
using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Hosting.Server;

namespace FastCgi.AspNetCore.SocketTests.Status;

/// <summary>The address of its own: nobody else reaches it, it says what is wrong with it, and nobody who looks holds up the end.</summary>
[Collection(Alone.Name)]
public sealed class StatusAddressTests : IDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly CollectedLogs _logs = new();

    private string Address => $"fastcgi://unix:{_folder.GetPath("app.sock")}";

    public void Dispose()
    {
        _folder.Dispose();
        _logs.Dispose();
    }

    /// <summary>Kestrel takes what it does not know for all addresses of the machine.</summary>
    [Theory]
    [InlineData("http://127.0.0.1:9100?format=json")]
    [InlineData("http://127.0.0.1?:9100")]
    [InlineData("http://127.0.0.1#:9100")]
    [InlineData("http://someone@127.0.0.1:9100")]
    [InlineData("http://[127.0.0.1]:9100")]
    [InlineData("http://localhost.:9100")]
    [InlineData("http://unix:/tmp/status.sock")]
    public async Task Address_ThatKestrelTakesForAnother_IsRefused(string address)
        => Assert.Contains("others can reach", (await Assert.ThrowsAsync<FormatException>(() => StartAsync(address))).Message, StringComparison.Ordinal);

    [Theory]
    [InlineData("http://127.0.0.1:9100/status")]
    [InlineData("http://127.0.0.1:99999")]
    [InlineData("http://localhost:0")]
    [InlineData("http://[::ffff:127.0.0.1]:9100")]
    [InlineData("http://")]
    [InlineData("")]
    [InlineData(";")]
    [InlineData("https://127.0.0.1:9100")]
    [InlineData("fastcgi://127.0.0.1:9100?nonsense=1")]
    [InlineData("fastcgi://fd:0")]
    public async Task Address_ThatIsNotOne_IsNamedWithItsSetting(string address)
    {
        var exception = await Assert.ThrowsAnyAsync<Exception>(() => StartAsync(address));

        Assert.True(exception is IOException or FormatException, exception.ToString());
        Assert.Contains("StatusAddress", exception.Message, StringComparison.Ordinal);
        Assert.Contains($"'{address}'", exception.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("http://127.1:0", "http://127.0.0.1:")]
    [InlineData("HTTP://127.0.0.1:0/", "http://127.0.0.1:")]
    public async Task Address_OfThisMachineInAnotherSpelling_IsListenedOn(string address, string expected)
    {
        await using var app = await StartAsync(address);

        Assert.StartsWith(expected, Find(app).Addresses.Single(), StringComparison.Ordinal);
    }

    /// <summary>The patience of the host, which is half a minute, is for the application.</summary>
    [Theory]
    [InlineData(true, "")]
    [InlineData(true, "GET / HTTP/1.1\r\nHo")]
    [InlineData(false, "")]
    [InlineData(false, "begin")]
    [InlineData(false, "unread")]
    public async Task Stop_WithAReaderThatDoesNotGoOn_DoesNotWaitForIt(bool isHttp, string sent)
    {
        await using var app = await StartAsync(isHttp ? "http://127.0.0.1:0" : $"fastcgi://unix:{_folder.GetPath("status.sock")}");
        EndPoint endPoint = isHttp ? IPEndPoint.Parse(Find(app).Addresses.Single()["http://".Length..]) : new UnixDomainSocketEndPoint(_folder.GetPath("status.sock"));
        using var reader = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        await reader.ConnectAsync(endPoint);
        await reader.SendAsync(sent switch
        {
            "begin" => RecordBytes.Begin(),
            "unread" => [.. Enumerable.Range(1, 400).SelectMany(static id => RecordBytes.Get((ushort)id, "/?html"))],
            _ => Encoding.ASCII.GetBytes(sent),
        });

        // Less than the half minute, and much more than it takes.
        await app.StopAsync().WaitAsync(TimeSpan.FromSeconds(20));

        Assert.DoesNotContain(_logs.All, static log => log.EventName == "StopTimedOut");
    }

    /// <summary>Who looks before the first connection is let in is not told that the end is near.</summary>
    [Fact]
    public async Task State_BeforeTheFirstConnection_IsStarting()
    {
        StatusSnapshot? status = null;
        WebApplication? app = null;
        using var listening = new ListeningLog(() => status = Read());
        app = Build(null, logging => logging.AddProvider(listening).SetMinimumLevel(LogLevel.Debug));
        await using (app)
        {
            await app.StartAsync();

            Assert.Equal("starting", status!.State);
            Assert.InRange(status.Uptime, 0, 600);
            Assert.Equal("running", Read()!.State);
            await app.StopAsync();
            Assert.Equal("stopping", Read()!.State);
        }

        StatusSnapshot? Read() => StatusEndpoint.MakeReader((FastCgiServer)app!.Services.GetRequiredService<IServer>(), app.Services).Read();
    }

    /// <summary>Programs of the machine could take all descriptors of the application, and so end it.</summary>
    [Fact]
    public async Task Http_ConnectionsBeyond32_AreClosed()
    {
        await using var app = await StartAsync("http://127.0.0.1:0");
        var endPoint = new IPEndPoint(IPAddress.Loopback, new Uri(Find(app).Addresses.Single()).Port);
        var clients = Enumerable.Range(0, 33).Select(_ =>
        {
            var client = new Socket(SocketType.Stream, ProtocolType.Tcp);
            client.Connect(endPoint);
            return client;
        }).ToList();

        // Kestrel begins those that come at once in any order.
        var first = await Task.WhenAny(clients.Select(static client => client.ReceiveAsync(new byte[1]))).Within("the end of one");
        Assert.Equal(0, await first);
        clients.ForEach(static client => client.Dispose());
    }

    /// <summary>It is part of the application, which starts and stops once, and whose environment it is not to tell.</summary>
    [Theory]
    [InlineData("http://127.0.0.1:0")]
    [InlineData("fastcgi://127.0.0.1:0")]
    public async Task Host_OfTheStatus_SaysNothingOfTheApplicationAndTakesNoSignals(string address)
    {
        await using (var app = await StartAsync(address))
            await app.StopAsync();

        foreach (var text in new[] { "Application started.", "Hosting environment:", "Content root path:", "Application is shutting down" })
            Assert.Single(_logs.All, log => log.Message.StartsWith(text, StringComparison.Ordinal));
    }

    /// <summary>Nobody asks a policy where the middleware is not.</summary>
    [Fact]
    public async Task Policy_ThatNobodyAsks_OpensNothing()
    {
        await using var app = Build(null, static _ => { });
        app.MapFastCgiStatus().WithMetadata(new AuthorizationPolicyBuilder().RequireAuthenticatedUser().Build());
        app.MapFastCgiStatus("/required").RequireAuthorization(new AuthorizationPolicyBuilder().RequireAuthenticatedUser().Build());
        await app.StartAsync();

        Assert.Contains("Status: 403", await AskAsync("/fastcgi-status?json"), StringComparison.Ordinal);
        Assert.Contains("Status: 500", await AskAsync("/required?json"), StringComparison.Ordinal);
    }

    private async Task<string> AskAsync(string uri)
    {
        using var client = await FastCgiClient.ConnectAsync(Address);
        await client.SendAsync(RecordBytes.Get(1, uri));
        return Encoding.UTF8.GetString(await client.ReadResponseAsync());
    }

    private static StatusHost Find(WebApplication app) => app.Services.GetServices<IHostedService>().OfType<StatusHost>().Single();

    private async Task<WebApplication> StartAsync(string address)
    {
        var app = Build(address, logging => logging.AddProvider(_logs));
        try
        {
            await app.StartAsync();
            return app;
        }
        catch
        {
            await app.DisposeAsync();
            throw;
        }
    }

    private WebApplication Build(string? address, Action<ILoggingBuilder> configure)
    {
        var builder = WebApplication.CreateBuilder(["--hostBuilder:reloadConfigOnChange=false"]);
        builder.Logging.ClearProviders();
        configure(builder.Logging);
        builder.WebHost.UseFastCgi(options => options.StatusAddress = address);
        builder.WebHost.UseUrls(Address);
        var app = builder.Build();
        app.MapGet("/", static () => "");
        return app;
    }

    /// <summary>Calls a test when the server says where it listens.</summary>
    private sealed class ListeningLog(Action onListening) : ILoggerProvider, ILogger
    {
        public ILogger CreateLogger(string categoryName) => this;

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull
            => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (eventId.Name == "Listening")
                onListening();
        }

        public void Dispose()
        {
        }
    }
}
