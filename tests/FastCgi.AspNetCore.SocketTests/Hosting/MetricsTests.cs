using System.Diagnostics.Metrics;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>What the meter says, and that it says it only when it is asked.</summary>
[Collection(Alone.Name)]
public sealed class MetricsTests : IDisposable
{
    private const string MeterName = "FastCgi.AspNetCore";

    private readonly ScratchFolder _folder = new();
    private readonly SemaphoreSlim _entered = new(0);
    private readonly TaskCompletionSource _go = new(TaskCreationOptions.RunContinuationsAsynchronously);

    private string Address => $"fastcgi://unix:{_folder.GetPath("app.sock")}";

    public void Dispose()
    {
        _entered.Dispose();
        _folder.Dispose();
    }

    [Fact]
    public async Task Meter_RequestsUnderWayAndWaiting_AreCounted()
    {
        await using var app = await StartAsync(limits =>
        {
            limits.MaxConcurrentRequests = 2;
            limits.RequestQueueLimit = 1;
        });
        Assert.Equal((0, 0, 0), ReadActive(app));

        using var first = await SendSlowAsync();
        using var second = await SendSlowAsync();
        using var third = await FastCgiClient.ConnectAsync(Address);
        await third.SendAsync("/slow", keepConnection: false);
        await UntilAsync(app, "fastcgi.server.queued_requests", 1);
        using var fourth = await FastCgiClient.ConnectAsync(Address);
        await fourth.SendAsync("/slow", keepConnection: false);
        await Assert.ThrowsAnyAsync<Exception>(fourth.ReadTextAsync);

        await UntilAsync(app, "fastcgi.server.active_connections", 3);
        Assert.Equal((3, 2, 1), ReadActive(app));
        Assert.Equal(1, Read(app, "fastcgi.server.rejected_requests", ("http.response.status_code", 503)));
        Assert.Equal(1, Read(app, "fastcgi.server.rejected_requests", ("error.type", "TooManyRequests")));

        _go.SetResult();
        foreach (var client in new[] { first, second, third })
            Assert.Equal("slow", await client.ReadTextAsync());
        await UntilAsync(app, "fastcgi.server.active_connections", 0);
        Assert.Equal((0, 0, 0), ReadActive(app));
    }

    [Fact]
    public async Task Meter_ConnectionWithoutPlace_IsCounted()
    {
        await using var app = await StartAsync(static limits => limits.MaxConcurrentConnections = 1);
        using var first = await SendSlowAsync();

        using var second = await FastCgiClient.ConnectAsync(Address);

        await UntilAsync(app, "fastcgi.server.rejected_connections", 1);
        _go.SetResult();
        Assert.Equal("slow", await first.ReadTextAsync());
    }

    [Fact]
    public async Task Meter_ConnectionLost_RequestIsCountedAsAborted()
    {
        await using var app = await StartAsync();

        (await SendSlowAsync()).Dispose();

        await UntilAsync(app, "fastcgi.server.aborted_requests", 1);
        _go.SetResult();
    }

    [Fact]
    public async Task Meter_WrongProtocol_IsCountedByItsKind()
    {
        await using var app = await StartAsync();

        using var client = await FastCgiClient.ConnectAsync(Address);
        await client.SendAsync("GET / HTTP/1.1\r\n\r\n"u8.ToArray());

        await UntilAsync(app, "fastcgi.server.protocol_errors", 1, ("error.type", "HttpOnFastCgiPort"));
    }

    [Fact]
    public async Task Meter_Buffers_AreMeasured()
    {
        await using var app = await StartAsync();
        Assert.Equal("fast", await FastCgiClient.GetAsync(Address));

        Assert.True(Read(app, "fastcgi.server.buffer_memory") > 0);
    }

    [Fact]
    public async Task Meter_ConnectionClosed_ItsDurationIsRecorded()
    {
        await using var app = await StartAsync();
        var durations = new System.Collections.Concurrent.ConcurrentQueue<double>();
        using var listener = Listen(app, static _ => { });
        listener.SetMeasurementEventCallback<double>((_, value, _, _) => durations.Enqueue(value));

        Assert.Equal("fast", await FastCgiClient.GetAsync(Address));

        await Waiting.UntilAsync(() => !durations.IsEmpty, "the duration");
        Assert.InRange(Assert.Single(durations), 0, Waiting.Patience.TotalSeconds);
    }

    [Fact]
    public async Task Meter_ListenerThatThrows_HarmsNothing()
    {
        await using var app = await StartAsync();
        using var listener = Listen(app, static _ => { });
        listener.SetMeasurementEventCallback<double>(static (_, _, _, _) => throw new InvalidOperationException("a listener"));

        for (var i = 0; i < 5; i++)
            Assert.Equal("fast", await FastCgiClient.GetAsync(Address));
    }

    /// <summary>Nothing is recorded while a request runs, so that none costs anything, be there a listener or not.</summary>
    [Fact]
    public async Task Instruments_All_AreObservable()
    {
        await using var app = await StartAsync();
        var instruments = new List<Instrument>();
        using var listener = Listen(app, instruments.Add);

        Assert.NotEmpty(instruments);
        Assert.All(instruments, static instrument => Assert.True((instrument.IsObservable || instrument.Name == "fastcgi.server.connection.duration") && instrument.Unit is not null && instrument.Description is not null, instrument.Name));
    }

    /// <summary>What dotnet-counters does from outside.</summary>
    [Fact]
    public async Task Counters_OfTheEventSource_HaveEachInstrument()
    {
        await using var app = await StartAsync();
        var expected = new List<string>();
        using (Listen(app, instrument => expected.Add(instrument.Name)))
        {
        }

        using var listener = new CounterListener();
        using var client = await SendSlowAsync();
        await listener.WaitAsync("fastcgi.server.active_requests", "1");

        // The others have a value when something has happened.
        foreach (var name in (string[])["active_connections", "aborted_requests", "buffer_memory"])
            await listener.WaitAsync($"fastcgi.server.{name}");
        Assert.All(listener.Names, name => Assert.Contains(name, expected));
        _go.SetResult();
        Assert.Equal("slow", await client.ReadTextAsync());
    }

    [Fact]
    public async Task Meter_OfAnEmptyBuilder_IsThere()
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseFastCgi();
        builder.WebHost.UseUrls(Address);
        await using var app = builder.Build();
        app.Run(static context => context.Response.WriteAsync("Hello"));
        await app.StartAsync();

        Assert.Equal((0, 0, 0), ReadActive(app));
    }

    private static (long Connections, long Requests, long Queued) ReadActive(WebApplication app)
        => (Read(app, "fastcgi.server.active_connections"), Read(app, "fastcgi.server.active_requests"), Read(app, "fastcgi.server.queued_requests"));

    private static long Read(WebApplication app, string name, (string Name, object Value)? tag = null)
    {
        long? sum = null;
        using var listener = Listen(app, static _ => { });
        listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) =>
        {
            if (instrument.Name == name && (tag is null || tags.Contains(new(tag.Value.Name, tag.Value.Value))))
                sum = (sum ?? 0) + value;
        });
        listener.RecordObservableInstruments();
        return sum ?? (tag is null ? throw new InvalidOperationException($"There is no {name}.") : 0);
    }

    private static MeterListener Listen(WebApplication app, Action<Instrument> onPublished)
    {
        var factory = app.Services.GetRequiredService<IMeterFactory>();
        var listener = new MeterListener
        {
            InstrumentPublished = (instrument, self) =>
            {
                if (instrument.Meter.Name != MeterName || instrument.Meter.Scope != factory)
                    return;

                onPublished(instrument);
                self.EnableMeasurementEvents(instrument);
            },
        };
        listener.Start();
        return listener;
    }

    /// <summary>The meter is read, as by whoever collects: nobody tells when it changes.</summary>
    private static async Task UntilAsync(WebApplication app, string name, long value, (string Name, object Value)? tag = null)
    {
        using var timeout = new CancellationTokenSource(Waiting.Patience);
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(5));
        while (Read(app, name, tag) != value)
        {
            Assert.False(timeout.IsCancellationRequested, $"{name} is {Read(app, name, tag)}, not {value}.");
            await timer.WaitForNextTickAsync(CancellationToken.None);
        }
    }

    private async Task<FastCgiClient> SendSlowAsync()
    {
        var client = await FastCgiClient.ConnectAsync(Address);
        await client.SendAsync("/slow", keepConnection: false);
        Assert.True(await _entered.WaitAsync(Waiting.Patience));
        return client;
    }

    private async Task<WebApplication> StartAsync(Action<FastCgiServerLimits>? configure = null)
    {
        var builder = WebApplication.CreateBuilder(["--hostBuilder:reloadConfigOnChange=false"]);
        builder.Logging.ClearProviders();
        builder.WebHost.UseFastCgi(options => configure?.Invoke(options.Limits));
        builder.WebHost.UseUrls(Address);
        var app = builder.Build();
        app.MapGet("/", static () => "fast");
        app.MapGet("/slow", async () =>
        {
            _entered.Release();
            await _go.Task;
            return "slow";
        });
        await app.StartAsync();
        return app;
    }
}
