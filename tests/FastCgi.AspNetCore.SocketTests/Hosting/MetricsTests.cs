using System.Collections.Concurrent;
using System.Diagnostics.Metrics;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>Who listens to the meter, and what a listener that fails does. InMemoryTests and ExportedMetricsTests look at the values.</summary>
[Collection(Alone.Name)]
public sealed class MetricsTests : HostTest
{
    [Fact]
    public async Task Meter_ListenerThatThrows_HarmsNothing()
    {
        await using var app = await StartAsync("--urls", Address);
        using var listener = Listen(app, static _ => { });
        listener.SetMeasurementEventCallback<double>(static (_, _, _, _) => throw new InvalidOperationException("a listener"));

        for (var i = 0; i < 5; i++)
            Assert.Equal("Hello", await FastCgiClient.GetAsync(Address));
    }

    [Fact]
    public async Task Meter_ConnectionClosed_ItsDurationIsRecorded()
    {
        await using var app = await StartAsync("--urls", Address);
        var durations = new ConcurrentQueue<double>();
        using var listener = Listen(app, static _ => { });
        listener.SetMeasurementEventCallback<double>((_, value, _, _) => durations.Enqueue(value));

        Assert.Equal("Hello", await FastCgiClient.GetAsync(Address));

        await Waiting.UntilAsync(() => !durations.IsEmpty, "the duration");
        Assert.InRange(Assert.Single(durations), 0, Waiting.Patience.TotalSeconds);
    }

    /// <summary>
    /// Nothing is recorded while a request runs, so that none costs anything, be there a listener or not. The services of an empty builder
    /// have no meters of their own.
    /// </summary>
    [Fact]
    public async Task Instruments_OfAnEmptyBuilder_AreObservable()
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseFastCgi().UseUrls(Address);
        await using var app = builder.Build();
        app.Run(static context => context.Response.WriteAsync("Hello"));
        await app.StartAsync();
        var instruments = new List<Instrument>();
        using var listener = Listen(app, instruments.Add);

        Assert.NotEmpty(instruments);
        Assert.Equal(["fastcgi.server.connection.duration"], instruments.Where(static instrument => !instrument.IsObservable).Select(static instrument => instrument.Name));
        Assert.DoesNotContain(instruments, static instrument => instrument.Unit is null || instrument.Description is null);
    }

    /// <summary>What dotnet-counters does from outside.</summary>
    [Fact]
    public async Task Counters_OfTheEventSource_HaveEachInstrument()
    {
        await using var app = await StartAsync("--urls", Address);
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
        Go.SetResult();
        Assert.Equal("slow", await client.ReadTextAsync());
    }

    private static MeterListener Listen(WebApplication app, Action<Instrument> onPublished)
    {
        var factory = app.Services.GetRequiredService<IMeterFactory>();
        var listener = new MeterListener
        {
            InstrumentPublished = (instrument, self) =>
            {
                if (instrument.Meter.Name != "FastCgi.AspNetCore" || instrument.Meter.Scope != factory)
                    return;

                onPublished(instrument);
                self.EnableMeasurementEvents(instrument);
            },
        };
        listener.Start();
        return listener;
    }
}
