namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The values of the meter. ExportedMetricsTests compare its instruments with the documents.</summary>
public sealed class ServerMetricsTests
{
    [Fact]
    public async Task Meter_LimitsOfNone_AreNotMeasured()
    {
        await using var run = await ServerRun.StartAsync(Apps.Hello, static options =>
        {
            (options.Limits.MaxConcurrentConnections, options.Limits.MaxConcurrentRequests) = (null, null);
            options.Transport.MaxBlockingThreads = 9;
        });

        var measured = Read(run);

        Assert.Equal(
            ["blocked_threads.limit {thread} 9"],
            measured.Where(static line => line.Contains(".limit")));
    }

    [Fact]
    public async Task Meter_RequestsOfEachKind_AreCountedWithTheirTags()
    {
        var go = Waiting.Signal();
        await using var run = await ServerRun.StartAsync(async _ => await go.Task, static options =>
        {
            options.Limits.MaxConcurrentConnections = 5;
            options.Limits.MaxConcurrentRequests = 2;
            options.Limits.RequestQueueLimit = 1;
        });
        for (var i = 0; i < 4; i++)
            run.Connect().Send(RecordBytes.Get());
        run.Connect().Send("GET / HTTP/1.1\r\n\r\n"u8.ToArray());

        var measured = Read(run);

        foreach (var line in new[]
        {
            "active_connections.limit {connection} 5", "active_requests.limit {request} 2",
            "queued_requests.limit {request} 1", "active_requests {request} 2", "queued_requests {request} 1",
            "requests {request} 4",
            "connections {connection} 5",
            "rejected_requests {request} 1 http.response.status_code=503,error.type=TooManyRequests",
            "protocol_errors {error} 1 error.type=HttpOnFastCgiPort",
            "aborted_requests {request} 0 fastcgi.abort.cause=Server",
        })
            Assert.Contains(line, measured);
        Assert.InRange(Value(measured, "received"), 4 * RecordBytes.Get().Length, (4 * RecordBytes.Get().Length) + 100);
        Assert.InRange(Value(measured, "sent"), 100, 10_000);
        Assert.InRange(Value(measured, "buffer_memory"), 1, 100_000_000);
        go.SetResult();

        static long Value(List<string> measured, string name)
            => long.Parse(measured.Single(line => line.StartsWith(
                name + " ", StringComparison.Ordinal)).Split(' ')[2], CultureInfo.InvariantCulture);
    }

    /// <summary>
    /// A listener may take its time between two instruments: what is under way and what waits are counted at one
    /// moment.
    /// </summary>
    [Fact]
    public async Task Meter_RequestsThatComeWhileItIsRead_AreNotTakenFromThoseUnderWay()
    {
        var go = Waiting.Signal();
        await using var run = await ServerRun.StartAsync(
            async _ => await go.Task,
            static options => (options.Limits.MaxConcurrentRequests, options.Limits.RequestQueueLimit) = (1, 5));
        run.Connect().Send(RecordBytes.Get());

        var measured = Read(run, name =>
        {
            if (name != "connections")
                return;
            for (var i = 0; i < 3; i++)
                run.Connect().Send(RecordBytes.Get());
        });

        Assert.Contains("active_requests {request} 1", measured);
        go.SetResult();
    }

    /// <summary>All sums over the connections come from one walk, and the next collection makes its own.</summary>
    [Fact]
    public async Task Meter_TrafficWhileItIsRead_IsInTheNextCollection()
    {
        await using var run = await ServerRun.StartAsync(Apps.Hello);
        string[] expected =
        [
            "active_requests {request} 0", "connections {connection} 0", "received By 0", "requests {request} 0",
            "sent By 0",
        ];

        var measured = Read(run, name =>
        {
            if (name is "connections" or "received" or "sent" or "requests")
                run.Connect().Send(RecordBytes.Get());
        });
        var next = Read(run);

        Assert.Equal(expected, measured.Intersect(expected).Order(StringComparer.Ordinal));
        Assert.Contains("connections {connection} 4", next);
        Assert.Contains("requests {request} 4", next);
    }

    /// <summary>What the instruments of the server's meter measure now.</summary>
    private static List<string> Read(ServerRun run, Action<string>? onMeasured = null)
    {
        var factory = run.Host.Services.GetRequiredService<IMeterFactory>();
        var lines = new List<string>();
        using var listener = new MeterListener
        {
            InstrumentPublished = (instrument, listening) =>
            {
                if (instrument.Meter.Name == "FastCgi.AspNetCore" && instrument.Meter.Scope == factory)
                    listening.EnableMeasurementEvents(instrument);
            },
        };
        listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) =>
        {
            var name = instrument.Name["fastcgi.server.".Length..];
            var text = string.Join(',', tags.ToArray().Select(static tag => $"{tag.Key}={tag.Value}"));
            lines.Add($"{name} {instrument.Unit} {value} {text}".TrimEnd());
            onMeasured?.Invoke(name);
        });
        listener.Start();
        listener.RecordObservableInstruments();
        return lines;
    }
}
