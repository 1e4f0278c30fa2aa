using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.InMemoryTests.Status;

/// <summary>The status of a server whose events are all known.</summary>
public sealed class StatusReaderTests
{
    private static readonly PropertyInfo[] s_limits = typeof(FastCgiServerLimits).GetProperties();

    [Fact]
    public async Task Read_BeforeTheStart_ReturnsNull()
    {
        await using var run = ServerRun.Make(Apps.Hello);

        Assert.Null(run.Reader.Read());
    }

    [Fact]
    public async Task Read_NewServer_DescribesIt()
    {
        await using var run = await ServerRun.StartAsync(Apps.Hello);
        var startedAt = run.Clock.GetUtcNow();
        run.Clock.Advance(TimeSpan.FromSeconds(90));

        var status = run.Status;

        Assert.Equal("FastCgi.AspNetCore.InMemoryTests", status.Application);
        Assert.Equal(
            typeof(StatusReader).Assembly
            .GetCustomAttribute<AssemblyInformationalVersionAttribute>()!.InformationalVersion
            .Split('+')[0],
            status.Version);
        Assert.Equal(RuntimeInformation.FrameworkDescription, status.Runtime);
        Assert.Equal($"{RuntimeInformation.OSDescription}, {RuntimeInformation.ProcessArchitecture}, "
            + $"{Environment.ProcessorCount} processors", status.System);
        Assert.Equal(Environment.ProcessId, status.ProcessId);
        Assert.Equal((startedAt, 90, startedAt.AddSeconds(90)), (status.StartedAt, status.Uptime, status.TakenAt));
        Assert.Equal(
            ("running", run.Server.HasEpoll ? "epoll" : "Socket", run.Server.Options.Transport.LoopCount, "Inline"),
            (status.State, status.Engine, status.Loops, status.Scheduling));
        Assert.Equal(["fastcgi://nobody"], status.Endpoints);
        Assert.Equal([], status.OpenConnections);
        Assert.Equal([], status.ActiveRequests);
        Assert.Equal([], status.Errors);
        Assert.Equal([], status.FrontEnds);
        await run.Host.StopAsync();
        Assert.Equal("stopping", run.Status.State);
    }

    /// <summary>While the server starts, the status shows neither a start time nor a stop deadline.</summary>
    [Fact]
    public async Task Read_WhileTheServerStarts_StateIsStarting()
    {
        StatusSnapshot? status = null;
        ServerRun? made = null;
        var asking = new TestListenerFactory
        {
            Binding = () =>
            {
                status = made!.Reader.Read();
                return Task.CompletedTask;
            },
        };
        await using var run = made = ServerRun.Make(
            Apps.Hello, services: services => services.AddSingleton<IConnectionListenerFactory>(asking));

        await run.Host.StartAsync();

        Assert.Equal(("starting", 0, run.Clock.GetUtcNow()), (status!.State, status.Uptime, status.StartedAt));
        Assert.Equal("running", run.Status.State);
    }

    [Theory, Values(-7, 7)]
    public async Task Read_ClockWasSet_UptimeIsWhatHasPassed(int hours)
    {
        await using var run = await ServerRun.StartAsync(Apps.Hello);
        run.Clock.Jump = TimeSpan.FromHours(hours);
        run.Clock.Advance(TimeSpan.FromSeconds(90));

        Assert.Equal(90, run.Status.Uptime);
    }

    [Fact]
    public async Task Read_Resources_AreThoseOfTheProcess()
    {
        await using var run = await ServerRun.StartAsync(Apps.Hello);
        var frontEnd = run.Connect();
        await frontEnd.AskAsync();

        var resources = run.Status.Resources;

        Assert.Equal(run.Server.Connections!.Server.Buffers.AllocatedBytes, resources.BufferMemory);
        Assert.InRange(resources.BufferMemory, 1, 100_000_000);
        Assert.InRange(resources.ManagedMemory, 100_000, long.MaxValue);
        Assert.InRange(resources.ResidentMemory, resources.ManagedMemory / 4, long.MaxValue);
        Assert.InRange(resources.ProcessorTime, 0.01, 1_000_000);
        Assert.Equal(resources.ProcessorTime, Math.Round(resources.ProcessorTime, 2));
        Assert.True(resources.Descriptors > 3);
        Assert.Equal(run.Server.Scheduler!.Watchdog.HandOverCount, resources.HandOvers);
        Assert.Equal((0, 0), (resources.BlockedThreads, resources.RequestsWithoutThread));
        Assert.InRange(resources.PoolThreads, 1, 100_000);
    }

    /// <summary>Three connections, one of them idle and one with a request that waits for its body.</summary>
    [Fact]
    public async Task Read_ConnectionsAndRequests_AreDescribed()
    {
        var go = Waiting.Signal();
        Dictionary<string, string> limits = [];
        await using var run = await ServerRun.StartAsync(HandleAsync, options => limits = SetLimits(options.Limits));
        var idle = run.Connect();
        await idle.AskAsync(RecordBytes.Get(uri: "/fast"));
        run.Clock.Advance(TimeSpan.FromSeconds(10));
        var reading = run.Connect();
        reading.Send(
            RecordBytes.PostHead(10, uri: "/body?secret"),
            RecordBytes.Record(RecordBytes.Stdin, 1, "12345"u8));
        run.Clock.Advance(TimeSpan.FromSeconds(20));
        var other = run.Connect();
        other.Send(RecordBytes.Get(3, "/other", keepConnection: false, more: ("HTTPS", "on")));
        run.Clock.Advance(TimeSpan.FromSeconds(1));
        run.Server.Connections!.Server.Counters.OnPeerRefused();

        var status = run.Status;

        Assert.Equal(
            ["active 1 1", "active 1 1", "idle 1 0"],
            status.OpenConnections.OrderBy(static c => c.State).Select(
            static c => $"{c.State} {c.Requests} {c.Active}"));
        Assert.Equal([1, 21, 31], status.OpenConnections.Select(static c => c.Age).Order());
        Assert.Equal(
            [
                $"{reading.Transport.Connection!.Id} 1 POST /body 192.0.2.7 waiting for the body 5 0",
                $"{other.Transport.Connection!.Id} 3 GET /other 192.0.2.7 in the application 0 3",
            ],
            status.ActiveRequests.Select(
                static r
                => $"{r.Connection} {r.Id} {r.Method} {r.Path} {r.Client} {r.State} {r.BytesRead} {r.BytesWritten}"));
        Assert.Equal([21, 1], status.ActiveRequests.Select(static r => r.Age));
        Assert.Equal((2, 0, 3), (status.Requests.Active, status.Requests.Queued, status.Requests.Total));
        Assert.Equal((3, 3, 0, 1), (
            status.Connections.Active, status.Connections.Total, status.Connections.Rejected,
            status.Connections.Refused));
        Assert.Equal(status.OpenConnections.Sum(static c => c.BytesReceived), status.Connections.BytesReceived);
        Assert.Equal(status.OpenConnections.Sum(static c => c.BytesSent), status.Connections.BytesSent);
        Assert.InRange(status.Connections.BytesReceived, 3 * 400, 3 * 1_000);
        Assert.InRange(status.Connections.BytesSent, 50, 300);
        Assert.Equal(
            limits,
            status.Limits.Where(limit => limits.ContainsKey(limit.Name)).ToDictionary(
                static limit => limit.Name, static limit => limit.Limit));
        (string, long?, double?)[] gauges =
            [("MaxConcurrentConnections", 3, 0.003), ("MaxConcurrentRequests", 2, 0.002), ("RequestQueueLimit", 0, 0)];
        Assert.Equal(
            gauges,
            status.Limits.Where(limit => limit.Used is not null && limits.ContainsKey(limit.Name)).Select(
                static limit => (limit.Name, limit.Used, limit.Part)));
        Assert.Contains(status.Limits, static limit => limit.Name == "file descriptors");
        var seen = Assert.Single(status.FrontEnds);
        Assert.Equal(("nginx/1.22.1", 3, 2, 3, 3, 0, 3, 0), (
            seen.Software, seen.Samples, seen.KeepConnection, seen.WithScheme, seen.WithTarget, seen.WithoutHost,
            seen.WithClient, seen.WithUser));
        go.SetResult();
        reading.Send(RecordBytes.Record(RecordBytes.Stdin, 1, "67890"u8), RecordBytes.Record(RecordBytes.Stdin, 1));
        await reading.ReadResponseAsync();

        async Task HandleAsync(HttpContext context)
        {
            if (context.Request.Path == "/other")
            {
                await context.Response.WriteAsync("abc");
                await go.Task;
            }
            else
            {
                await context.Request.Body.CopyToAsync(Stream.Null);
            }
        }
    }

    [Fact]
    public async Task Read_RequestsInTheQueue_AreNotCountedAsActive()
    {
        var go = Waiting.Signal();
        await using var run = await ServerRun.StartAsync(
            async _ => await go.Task,
            static options => (options.Limits.MaxConcurrentRequests, options.Limits.RequestQueueLimit) = (1, 3));
        run.Connect().Send(RecordBytes.Get());
        for (var i = 0; i < 3; i++)
            run.Connect().Send(RecordBytes.Get());

        var status = run.Status;

        Assert.Equal((1, 3, 4), (status.Requests.Active, status.Requests.Queued, status.Requests.Total));
        Assert.Equal(3, status.ActiveRequests.Count(static request => request.State == "in the queue"));
        go.SetResult();
    }

    [Fact]
    public async Task Read_LimitsOfNone_AreShownAsNone()
    {
        var optional = s_limits.Where(
            static limit => Nullable.GetUnderlyingType(limit.PropertyType) is not null).ToList();
        await using var run = await ServerRun.StartAsync(
            Apps.Hello, options => optional.ForEach(limit => limit.SetValue(options.Limits, null)));

        var none = run.Status.Limits.Where(static limit => limit.Limit == "none").Select(static limit => limit.Name);

        string[] expected =
            [.. optional.Select(static limit => limit.Name), "MinRequestBodyDataRate", "RequestQueueLimit"];
        Assert.Equal(expected.Order(), none.Order());
    }

    /// <summary>
    /// Only events that an operator can act on are recommendations, and a connection closed for an error counts under
    /// that error.
    /// </summary>
    [Fact]
    public async Task Read_ErrorsAndAborts_AreCountedByTheirCause()
    {
        await using var run = await ServerRun.StartAsync(
            static context => context.Request.Path == "/fails"
            ? throw new InvalidOperationException("on purpose")
            : Apps.UntilAborted(context));
        run.Logs.Expected.Add("ApplicationFailed");
        run.Logs.Expected.Add("ApplicationError");
        var failing = run.Connect();
        await failing.AskAsync(RecordBytes.Get(uri: "/fails"));
        var aborting = run.Connect();
        aborting.Send(RecordBytes.Get(), RecordBytes.Abort());
        var lost = run.Connect();
        lost.Send(RecordBytes.Get());
        lost.Close();
        run.Connect().Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"u8.ToArray());
        var bare = run.Connect();
        await bare.AskAsync(
            RecordBytes.Begin(),
            RecordBytes.ParamsStream(1, ("REQUEST_URI", "/")),
            RecordBytes.Record(RecordBytes.Stdin, 1));

        var status = run.Status;

        Assert.Equal(
            "WebServer=1 ConnectionLost=1 Application=0 Server=0",
            string.Join(' ', status.Requests.Aborted.Select(static pair => $"{pair.Key}={pair.Value}")));
        Assert.Equal(
            "400 MissingMethod=1",
            string.Join(' ', status.Requests.Rejected.Select(static pair => $"{pair.Key}={pair.Value}")));
        Assert.Equal(1, Assert.Single(status.Connections.ProtocolErrors).Value);
        Assert.Contains(
            status.Recommendations,
            static finding => finding is { Name: "ParametersMissing", Level: LogLevel.Warning, Count: 1 });
        Assert.All(
            status.Recommendations,
            static finding => Assert.InRange(finding.Level, LogLevel.Information, LogLevel.Warning));
        var error = Assert.Single(status.Errors);
        Assert.Equal((LogLevel.Error, 1L, run.Clock.GetUtcNow()), (error.Level, error.Count, error.LastSeen));
        Assert.True(error.EventId > 0);
        Assert.Contains("InvalidOperationException", error.Message);
    }

    /// <summary>Nothing is measured until the status is first read.</summary>
    [Fact]
    public async Task Read_Recent_IsWhatHappenedSinceTheFirstReading()
    {
        await using var run = await ServerRun.StartAsync(Apps.Hello);
        await run.Connect().AskAsync();
        Assert.Equal((0, 0, 0, null, null), Of(run.Status.Recent));

        var frontEnd = run.Connect();
        for (var i = 0; i < 30; i++)
        {
            run.Clock.Advance(TimeSpan.FromSeconds(1));
            await frontEnd.AskAsync();
        }

        var recent = run.Status.Recent;
        Assert.Equal((30, 1, 30, 0.0, 0.0), (recent.Seconds, recent.RequestsPerSecond, recent.Measured, Math.Round(
            recent.P50!.Value, 3), Math.Round(recent.Max!.Value, 3)));
        Assert.Equal(0, recent.ConnectionsPerSecond);
        Assert.Equal(RecordBytes.Get().Length, recent.BytesReceivedPerSecond);
        Assert.InRange(recent.BytesSentPerSecond, 50, 500);

        static (double, double, long, double?, double?) Of(RecentStatus recent)
            => (recent.Seconds, recent.RequestsPerSecond, recent.Measured, recent.P50, recent.Max);
    }

    /// <summary>Gives each limit a different value.</summary>
    /// <returns>What the status shows of each.</returns>
    private static Dictionary<string, string> SetLimits(FastCgiServerLimits limits)
    {
        var shown = new Dictionary<string, string>();
        foreach (var property in s_limits)
        {
            var number = 1_000 + shown.Count;
            var type = Nullable.GetUnderlyingType(property.PropertyType) ?? property.PropertyType;
            property.SetValue(limits, type.Name switch
            {
                nameof(TimeSpan) => TimeSpan.FromSeconds(number),
                nameof(MinDataRate) => new MinDataRate(number, TimeSpan.FromHours(1)),
                _ => Convert.ChangeType(number, type, CultureInfo.InvariantCulture),
            });
            shown[property.Name] = type == typeof(TimeSpan)
                ? $"{number} s"
                : number.ToString("N0", CultureInfo.InvariantCulture);
        }

        return shown;
    }
}
