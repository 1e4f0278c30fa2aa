using FastCgi.AspNetCore.Advice;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// Each fault is reported once, with the line that fixes it, and again only after it was fixed; correct setups are not.
/// </summary>
public sealed class DoctorTests
{
    private const string Nginx = "nginx/1.22.1";
    private const string Apache = "Apache/2.4.71 (Debian)";
    private const string HaProxy = "HAProxy 2.6.12";

    // Nothing waits for the thread pool.
    private const string Idle = "work:0 visit";

    private const string OverTls = "3*get:HTTPS=on,HTTP_X_FORWARDED_PROTO=https visit";
    private const string NoScheme = "3*get:REQUEST_SCHEME=,HTTP_X_FORWARDED_PROTO=https visit";

    /// <param name="script">What happens, as in <see cref="DoctorRun.PlayAsync"/>.</param>
    /// <param name="finding">The event, and a part of its message.</param>
    /// <param name="fix">What happens next, after which nothing is wrong.</param>
    [Theory]
    [InlineData(Nginx, NoScheme, "SchemeNotPassed fastcgi_param HTTPS $https if_not_empty;", OverTls)]
    [InlineData("another", NoScheme, "SchemeNotPassed HTTPS with the value on", OverTls)]
    [InlineData(Nginx, "3*get:HTTP_HOST= visit", "HostNotPassed fastcgi_param HTTP_HOST", "3*get visit")]
    // Connections that are not kept, for one request each.
    [InlineData(Nginx, "200*open visit", "ConnectionsNotKept " + Nginx, "get visit")]
    [InlineData(Apache, "200*open visit", "ConnectionsNotKept " + Apache, "get visit")]
    // A starved thread pool: what waits, and what it completes meanwhile.
    [InlineData("", "work:10 visit none visit", "ThreadPoolStarved ", Idle)]
    [InlineData("", "work:200+1000 visit none work:200+1000 visit", "ThreadPoolStarved ", Idle)]
    [InlineData(
        "", "handovers:200 visit", "HandOversTooFrequent Set FastCgi:Transport:ApplicationScheduling to ThreadPool.",
        "handovers:199 visit visit")]
    // More than four fifths of 1,024.
    [InlineData(
        "", "256*connect descriptors:820 visit", "DescriptorsNearLimit Raise LimitNOFILE= in the systemd unit",
        "descriptors:300 visit")]
    // One that takes up to twice as long may not have been abandoned yet.
    [InlineData(
        Nginx, "giveup:60 giveup:60.5 giveup:61 visit", "RequestsGivenUp 60 s old", "12*visit")]
    [InlineData(
        Nginx, "giveup:60 giveup:60.5 giveup:61 visit", "RequestsGivenUp fastcgi_read_timeout 120s;", "12*visit")]
    // nginx counts milliseconds from the end of the request, so that a timeout of 2 s may end one that is a little
    // younger here.
    [InlineData(Nginx, "giveup:1.9 giveup:1.9 giveup:1.9 visit", "RequestsGivenUp 2 s old", "12*visit")]
    [InlineData(Nginx, "giveup:2 giveup:2 giveup:2 visit", "RequestsGivenUp 2 s old", "12*visit")]
    [InlineData(
        Apache, "1s 2*challenge visit none 1s challenge visit", "AuthorizationAbsent CGIPassAuth On",
        "authorized visit")]
    [InlineData(
        Nginx, "2*missing:/app/ missing:/app/a missing:/app/b/c missing:/app/a visit",
        "PathBaseMissing fastcgi_param PATH_BASE /app;", "missing:/app/a,PATH_BASE=/app visit")]
    [InlineData(
        Nginx, "missing:/app/ missing:/favicon.ico missing:/app/a missing:/app/b missing:/app/c missing:/app/d visit",
        "PathBaseMissing fastcgi_param PATH_BASE /app;", "missing:/app/a,PATH_BASE=/app visit")]
    public async Task Fault_IsReportedOnceUntilFixed(string software, string script, string finding, string fix)
    {
        await using var run = await DoctorRun.StartAsync();
        await run.PlayAsync(software, script);

        var report = Assert.Single(run.Advice);
        Assert.Equal(finding.Split(' ')[0], report.EventName);
        Assert.Contains(finding.Split(' ', 2)[1], report.Message);
        Assert.Single(run.Journal.GetEntries());
        run.Visit();
        await run.PlayAsync(software, fix);
        Assert.Empty(run.Journal.GetEntries());
        Assert.Single(run.Advice);
    }

    [Theory]
    [InlineData(Nginx, "5*get visit visit")]
    [InlineData(Nginx, "199*open visit")]
    [InlineData(Nginx, "200*kept visit")]
    [InlineData("another", "200*open visit")]
    // mod_fcgid, which has started the process, has the name of Apache, and no such line.
    [InlineData(Apache, "200*open visit", true)]
    [InlineData("", "work:9 visit visit")]
    [InlineData("", "work:10+100 visit work:10+100 visit")]
    [InlineData("", "work:100+1000 visit work:100+1000 visit")]
    [InlineData("", "handovers:199 visit")]
    [InlineData("", "256*connect descriptors:819 visit")]
    // Clients leave at different ages. Clock ticks do not make a request older.
    [InlineData(Nginx, "giveup:1.899 giveup:1.899 giveup:1.899 giveup:2 visit")]
    [InlineData(Nginx, "0.9s giveup:1.1 0.9s giveup:1.1 0.9s giveup:1.1 0.9s giveup:2 visit")]
    [InlineData(Nginx, "giveup:60 giveup:30 giveup:60 visit")]
    [InlineData(Nginx, "giveup:1 giveup:1 giveup:1 visit")]
    [InlineData(Nginx, "giveup:60 giveup:61 giveup:62 visit")]
    [InlineData(Nginx, "1s 3*challenge visit")]
    // Clients first try without it, in the same second.
    [InlineData(Apache, "challenge challenge:HTTP_AUTHORIZATION=wrong authorized 1s 5*challenge visit")]
    // An application without challenges does not ask for the header: cookies cause its 401.
    [InlineData(Apache, "5*unauthorized visit")]
    [InlineData(Nginx, "missing:/app/ missing:/app/a missing:/app/b/c missing:/app/a visit")]
    [InlineData(Nginx, "3*missing:/app/a missing:/other/c 3*missing:/app/d visit")]
    [InlineData(Nginx, "found:/found/a 5*missing:/app/a visit")]
    [InlineData(Nginx, "missing:/ missing:/a missing:/b missing:/c missing:/d missing:/e visit")]
    public async Task Correct_NothingIsReported(string software, string script, bool isSpawned = false)
    {
        await using var run = await DoctorRun.StartAsync(isSpawned);

        await run.PlayAsync(software, script);

        Assert.Empty(run.Advice);
    }

    /// <summary>Another web server on the same machine passes the header.</summary>
    [Fact]
    public async Task Authorization_NotPassedByOneOfTwo_ReportNamesIt()
    {
        await using var run = await DoctorRun.StartAsync();

        await run.PlayAsync(Apache, "challenge authorized");
        await run.PlayAsync(HaProxy, "1s 3*challenge visit");

        Assert.Contains(HaProxy, Assert.Single(run.Advice).Message);
    }

    /// <summary>The report names the web server that opens the connections, and no other.</summary>
    [Theory]
    [InlineData("nginx/1.22.1", 10, "lighttpd/1.4.69", 400, null)]
    [InlineData("nginx/1.22.1", 300, "lighttpd/1.4.69", 300, "nginx/1.22.1")]
    [InlineData("nginx/1.22.1", 10, "Apache/2.4", 400, "Apache/2.4")]
    public async Task Connections_OfSeveralWebServers_ReportNamesTheirs(
        string first, int ofFirst, string second, int ofSecond, string? blamed)
    {
        await using var run = await DoctorRun.StartAsync();
        var all = Enumerable.Range(0, ofFirst + ofSecond).Select(
            i => i * ofFirst / (ofFirst + ofSecond) != (i + 1) * ofFirst / (ofFirst + ofSecond) ? first : second)
            .ToList();

        // Ten seconds, in which connections arrive evenly. The sampled ones do not always have the same position among
        // them.
        for (var i = 0; i < all.Count; i++)
        {
            if (i % (all.Count / 10) == i / (all.Count / 10) % 2)
                run.Server.Clock.Advance(TimeSpan.FromSeconds(1));
            await run.RequestAsync(keeps: false, ("SERVER_SOFTWARE", all[i]));
        }

        run.Look();

        if (blamed is null)
            Assert.Empty(run.Reports);
        else
            Assert.StartsWith(
                blamed,
                Assert.Single(run.Reports, static log => log.EventName == "ConnectionsNotKept").Message);
    }

    [Fact]
    public async Task Requests_Correct_AreCounted()
    {
        await using var run = await DoctorRun.StartAsync();

        await run.PlayAsync(Nginx, "5*get");

        var frontEnd = Assert.Single(run.Server.Advisor.FrontEnds.GetAll());
        Assert.Equal(
            (Nginx, 5, 5, 0),
            (frontEnd.Software, frontEnd.Samples, frontEnd.KeepConnection, frontEnd.WithoutHost));
    }

    [Fact]
    public async Task Advice_Throws_IsOnlyLogged()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello, expects: "ServerFailed");

        server.Context.Advise(0, static (_, _) => throw new InvalidOperationException("This is meant to fail."));

        Assert.Single(server.Logs.Named("ServerFailed"));
    }

    [Theory, Values(true, false)]
    public async Task EnableAdvice_Off_NothingIsReported(bool isOn)
    {
        await using var run = await ServerRun.StartAsync(
            Apps.Do(static context => context.Response.Headers.Connection = "close"),
            options =>
            {
                options.EnableAdvice = isOn;
                options.SlowRequestThreshold = TimeSpan.FromSeconds(1);
            });
        var frontEnd = run.Connect();

        frontEnd.Send(RecordBytes.Begin(), RecordBytes.ParamsStream(
            1, ("SERVER_SOFTWARE", "nginx/1.22.1"), ("REQUEST_METHOD", "GET"), ("HTTP_HOST", "www.example.test"),
            ("SERVER_PORT", "8080")), RecordBytes.Record(RecordBytes.Stdin, 1));
        await frontEnd.ReadResponseAsync();
        run.Clock.Advance(TimeSpan.FromMinutes(1));

        string[] advice = ["ParametersMissing", "HostWithoutPort", "HeadersDropped"];
        Assert.Equal(isOn ? advice : [], run.Logs.All.Select(
            static log => log.EventName!).Intersect(advice).Distinct().OrderBy(name => Array.IndexOf(advice, name)));
        Assert.Equal(isOn ? 1 : 0, run.Status.FrontEnds.Count);
    }

    /// <summary>Names come from a peer, which chooses their number and length.</summary>
    [Fact]
    public async Task FrontEnds_ManyAndLong_AreBounded()
    {
        await using var run = await DoctorRun.StartAsync();

        for (var i = 0; i < 40; i++)
        {
            await run.RequestAsync(keeps: true, ("SERVER_SOFTWARE", $"{i}-{new string('x', 1_000)}"));
            run.Server.Clock.Advance(TimeSpan.FromSeconds(1));
        }

        var all = run.Server.Advisor.FrontEnds.GetAll();
        Assert.Equal(16, all.Count);
        Assert.All(all, static frontEnd => Assert.Equal(100, frontEnd.Software.Length));
        Assert.Equal(24, run.Server.Advisor.FrontEnds.OtherSamples);
    }
}
