using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Hosting;
using FastCgi.AspNetCore.Testing;
using Microsoft.Extensions.Logging;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The doctor says once what is wrong, with the line to add, and forgets it when it is mended.</summary>
public sealed class DoctorTests
{
    private static readonly (string, string)[] s_nginx = [("SERVER_SOFTWARE", "nginx/1.22.1")];

    [Theory]
    [InlineData("nginx/1.22.1", "fastcgi_param HTTPS $https if_not_empty;")]
    [InlineData("HAProxy", "set-param REQUEST_SCHEME https")]
    [InlineData("Apache/2.4", "Behind a load balancer")]
    [InlineData("another", "HTTPS with the value on")]
    public async Task Scheme_NotPassed_LineIsNamedOnceAndForgottenWhenMended(string software, string line)
    {
        await using var run = await DoctorRun.StartAsync();
        (string, string)[] wrong = [("SERVER_SOFTWARE", software), ("REQUEST_SCHEME", ""), ("HTTP_X_FORWARDED_PROTO", "https")];
        (string, string)[] right = [("SERVER_SOFTWARE", software), ("HTTPS", "on"), ("HTTP_X_FORWARDED_PROTO", "https")];

        await run.VisitAsync(requests: 3, wrong);
        await run.VisitAsync(requests: 3, wrong);

        var report = Assert.Single(run.Reports);
        Assert.Equal("SchemeNotPassed", report.EventName);
        Assert.Contains(line, report.Message, StringComparison.Ordinal);
        Assert.Contains(software, report.Message, StringComparison.Ordinal);
        Assert.Single(run.Journal.GetEntries());

        await run.VisitAsync(requests: 3, right);
        Assert.Empty(run.Journal.GetEntries());
    }

    [Fact]
    public async Task Host_NotPassed_LineIsNamedOnceAndForgottenWhenMended()
    {
        await using var run = await DoctorRun.StartAsync();

        await run.VisitAsync(requests: 2, [.. s_nginx, ("HTTP_HOST", "")]);

        Assert.Contains("fastcgi_param HTTP_HOST", Assert.Single(run.Reports, static log => log.EventName == "HostNotPassed").Message, StringComparison.Ordinal);
        await run.VisitAsync(requests: 2, s_nginx);
        Assert.Empty(run.Journal.GetEntries());
    }

    [Fact]
    public async Task Host_OfAnOldProtocol_IsNotMissed()
    {
        await using var run = await DoctorRun.StartAsync();

        await run.VisitAsync(requests: 2, [.. s_nginx, ("HTTP_HOST", ""), ("SERVER_PROTOCOL", "HTTP/1.0")]);

        Assert.Empty(run.Reports);
    }

    [Theory]
    [InlineData("nginx/1.22.1", 199, false, false)]
    [InlineData("nginx/1.22.1", 200, false, true)]
    [InlineData("nginx/1.22.1", 200, true, false)]
    [InlineData("Apache/2.4", 200, false, true)]
    [InlineData("another", 200, false, false)]
    public async Task Connections_NotKeptAndMany_LineIsNamed(string software, int connections, bool keeps, bool isReported)
    {
        await using var run = await DoctorRun.StartAsync();

        for (var i = 0; i < connections; i++)
            await run.RequestAsync(keeps, ("SERVER_SOFTWARE", software));
        run.Visit();

        Assert.Equal(isReported ? ["ConnectionsNotKept"] : [], run.Reports.Select(static log => log.EventName));
        if (!isReported)
            return;

        await run.VisitAsync(requests: 1, [("SERVER_SOFTWARE", software)]);
        Assert.Empty(run.Journal.GetEntries());
    }

    [Theory]
    [InlineData(9, 0, false)]
    [InlineData(10, 0, true)]
    [InlineData(10, 100, false)]
    [InlineData(200, 1_000, true)]
    [InlineData(100, 1_000, false)]
    public async Task ThreadPool_ThatIsStarved_IsToldApartFromABusyOne(long waiting, long completedInInterval, bool isReported)
    {
        await using var run = await DoctorRun.StartAsync();
        for (var i = 1; i <= 2; i++)
        {
            run.Work = new ThreadPoolWork(waiting, i * completedInInterval);
            run.Visit();
            Assert.Equal(isReported && i == 2, run.Reports.Any(static log => log.EventName == "ThreadPoolStarved"));
        }

        run.Work = new ThreadPoolWork(0, 3 * completedInInterval);
        run.Visit();
        Assert.Empty(run.Journal.GetEntries());
    }

    [Fact]
    public async Task Nothing_IsWrong_NothingIsSaid()
    {
        await using var run = await DoctorRun.StartAsync();

        await run.VisitAsync(requests: 5, s_nginx);
        run.Visit();

        Assert.Empty(run.Reports);
        var frontEnd = Assert.Single(run.Server.Context.FrontEnds.GetAll());
        Assert.Equal(("nginx/1.22.1", 5, 5, 0), (frontEnd.Software, frontEnd.Samples, frontEnd.Kept, frontEnd.LackingHost));
    }

    /// <summary>The timer does not wait for a look that a log provider holds up: those that follow leave it alone.</summary>
    [Fact]
    public async Task Look_WhileOneIsHeldUp_LeavesItAlone()
    {
        await using var run = await DoctorRun.StartAsync();
        using var entered = new SemaphoreSlim(0);
        using var go = new SemaphoreSlim(0);
        var looks = 0;
        using var doctor = new Doctor(run.Server.Connections, run.Server.Scheduler, run.Journal, run.Server.Clock, () =>
        {
            if (Interlocked.Increment(ref looks) == 1)
            {
                entered.Release();
                go.Wait(Waiting.Patience);
            }

            return default;
        });
        var held = Task.Run(doctor.Look);
        Assert.True(await entered.WaitAsync(Waiting.Patience));

        doctor.Look();
        Assert.Equal(1, looks);
        go.Release();
        await held;
        doctor.Look();

        Assert.Equal(2, looks);
    }

    /// <summary>Names come from a peer, and are as many and as long as it likes.</summary>
    [Fact]
    public async Task FrontEnds_ManyAndLong_AreBounded()
    {
        await using var run = await DoctorRun.StartAsync();

        for (var i = 0; i < 40; i++)
        {
            await run.RequestAsync(keeps: true, ("SERVER_SOFTWARE", $"{i}-{new string('x', 1_000)}"));
            run.Server.Clock.Advance(TimeSpan.FromSeconds(1));
        }

        var all = run.Server.Context.FrontEnds.GetAll();
        Assert.Equal(16, all.Count);
        Assert.All(all, static frontEnd => Assert.Equal(100, frontEnd.Software.Length));
    }

    private sealed class DoctorRun : IAsyncDisposable
    {
        private readonly Doctor _doctor;

        private DoctorRun(TestServer server)
        {
            Server = server;
            Journal = new EventJournal(server.Context.Log, server.Clock);
            _doctor = new Doctor(server.Connections, server.Scheduler, Journal, server.Clock, () => Work);
        }

        public ThreadPoolWork Work { get; set; }

        public TestServer Server { get; }

        public EventJournal Journal { get; }

        public IEnumerable<CollectedLog> Reports => Server.Logs.All.Where(static log => log.Level == LogLevel.Warning);

        public static async Task<DoctorRun> StartAsync() => new(await TestServer.StartAsync(static _ => Task.CompletedTask));

        public async Task RequestAsync(bool keeps, params (string, string)[] parameters)
        {
            var frontEnd = Server.Connect();
            (string Name, string Value)[] usual =
            [
                ("REQUEST_METHOD", "GET"), ("REQUEST_URI", "/"), ("SERVER_PROTOCOL", "HTTP/1.1"), ("REQUEST_SCHEME", "http"), ("SERVER_PORT", "80"), ("REMOTE_ADDR", "192.0.2.7"),
                ("HTTP_HOST", "www.example.test"),
            ];
            (string, string)[] all = [.. usual.Where(pair => !parameters.Any(given => given.Item1 == pair.Name)), .. parameters];
            frontEnd.Send(RecordBytes.Begin(1, 1, keeps), RecordBytes.ParamsStream(1, all), RecordBytes.Record(RecordBytes.Stdin, 1));
            await frontEnd.ReadResponseAsync();
            frontEnd.Close();
        }

        /// <summary>A request a second, and the doctor behind them.</summary>
        public async Task VisitAsync(int requests, (string, string)[] parameters)
        {
            for (var i = 0; i < requests; i++)
            {
                Server.Clock.Advance(TimeSpan.FromSeconds(1));
                await RequestAsync(keeps: true, parameters);
            }

            Visit();
        }

        public void Visit()
        {
            Server.Clock.Advance(Doctor.Interval);
            _doctor.Look();
        }

        public ValueTask DisposeAsync() => Server.DisposeAsync();
    }
}
