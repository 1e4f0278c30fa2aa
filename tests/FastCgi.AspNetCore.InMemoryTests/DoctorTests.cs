using FastCgi.AspNetCore.Advice;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// Each fault is reported once, with the line that fixes it, and again only after it was fixed; correct setups are not.
/// </summary>
public sealed class DoctorTests
{
    private static readonly (string, string)[] s_nginx = [("SERVER_SOFTWARE", "nginx/1.22.1")];

    [Theory]
    [InlineData("nginx/1.22.1", "SchemeNotPassed", "REQUEST_SCHEME", "fastcgi_param HTTPS $https if_not_empty;")]
    [InlineData("another", "SchemeNotPassed", "REQUEST_SCHEME", "HTTPS with the value on")]
    [InlineData("nginx/1.22.1", "HostNotPassed", "HTTP_HOST", "fastcgi_param HTTP_HOST")]
    public async Task Parameter_NotPassed_IsReportedOnceUntilFixed(
        string software, string eventName, string parameter, string line)
    {
        await using var run = await DoctorRun.StartAsync();
        (string, string)[] wrong =
            [("SERVER_SOFTWARE", software), (parameter, ""), ("HTTP_X_FORWARDED_PROTO", "https")];
        (string, string)[] right =
            [("SERVER_SOFTWARE", software), ("HTTPS", "on"), ("HTTP_X_FORWARDED_PROTO", "https")];
        if (parameter == "HTTP_HOST")
            (wrong[2], right[2]) = (("HTTP_DNT", "1"), ("HTTP_DNT", "1"));

        await run.VisitAsync(requests: 3, wrong);
        await run.VisitAsync(requests: 3, wrong);

        var report = Assert.Single(run.Reports);
        Assert.Equal(eventName, report.EventName);
        Assert.Contains(line, report.Message);
        Assert.Contains(software, report.Message);
        Assert.Single(run.Journal.GetEntries());

        await run.VisitAsync(requests: 3, right);
        Assert.Empty(run.Journal.GetEntries());
    }

    [Theory]
    [InlineData("nginx/1.22.1", 199, false, false)]
    [InlineData("nginx/1.22.1", 200, false, true)]
    [InlineData("nginx/1.22.1", 200, true, false)]
    [InlineData("Apache/2.4", 200, false, true)]
    [InlineData("another", 200, false, false)]
    // mod_fcgid, which has started the process, has the name of Apache, and no such line.
    [InlineData("Apache/2.4", 200, false, false, true)]
    public async Task Connections_ManyAndNotKept_AreReported(
        string software, int connections, bool keeps, bool isReported, bool isSpawned = false)
    {
        await using var run = await DoctorRun.StartAsync(isSpawned);

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
    public async Task ThreadPool_Starved_IsReportedUnlikeABusyOne(
        long waiting, long completedInInterval, bool isReported)
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

    [Theory]
    [InlineData(199, false)]
    [InlineData(200, true)]
    public async Task HandOvers_Frequent_AreReportedUntilTheyAreRare(long inInterval, bool isReported)
    {
        await using var run = await DoctorRun.StartAsync();

        run.HandOvers = inInterval;
        run.Visit();
        Assert.Equal(isReported ? ["HandOversTooFrequent"] : [], run.Reports.Select(static log => log.EventName));
        Assert.Equal(isReported, run.Reports.Any(static log => log.Message.Contains(
            "Set FastCgi:Transport:ApplicationScheduling to ThreadPool.")));

        run.HandOvers = 2 * inInterval - 1;
        run.Visit();
        run.Visit();
        Assert.Empty(run.Journal.GetEntries());
    }

    /// <summary>Four fifths of 1,024.</summary>
    [Theory]
    [InlineData(819, false)]
    [InlineData(820, true)]
    public async Task Descriptors_NearTheLimit_AreReportedUntilThereAreFewer(long count, bool isReported)
    {
        await using var run = await DoctorRun.StartAsync();
        run.Server.GetMaxDescriptors = static () => 1_024;
        var all = Enumerable.Range(0, 256).Select(_ => run.Server.Connect()).ToList();

        run.Descriptors = count;
        run.Visit();
        Assert.Equal(isReported ? ["DescriptorsNearLimit"] : [], run.Reports.Select(static log => log.EventName));
        Assert.Equal(isReported, run.Reports.Any(static log => log.Message.Contains(
            "Raise LimitNOFILE= in the systemd unit")));

        run.Descriptors = 300;
        run.Visit();
        Assert.Empty(run.Journal.GetEntries());
        all.ForEach(static frontEnd => frontEnd.Close());
    }

    [Fact]
    public async Task Requests_GivenUpAtOneAge_AreReportedOnceAndForgotten()
    {
        await using var run = await DoctorRun.StartAsync();
        for (var i = 0; i < 3; i++)
            await run.GiveUpAsync(60 + i * 0.5, "nginx/1.22.1");

        run.Visit();
        run.Visit();

        var report = Assert.Single(run.Reports);
        Assert.Equal("RequestsGivenUp", report.EventName);
        Assert.Contains("60 s old", report.Message);
        Assert.Contains("fastcgi_read_timeout 120s;", report.Message);
        Assert.Single(run.Journal.GetEntries());

        // One that takes up to twice as long may not have been abandoned yet.
        for (var i = 0; i < 12; i++)
            run.Visit();
        Assert.Empty(run.Journal.GetEntries());
    }

    [Fact]
    public async Task Requests_Correct_NothingIsReported()
    {
        await using var run = await DoctorRun.StartAsync();

        await run.VisitAsync(requests: 5, s_nginx);
        run.Visit();

        Assert.Empty(run.Reports);
        var frontEnd = Assert.Single(run.Server.Advisor.FrontEnds.GetAll());
        Assert.Equal(
            ("nginx/1.22.1", 5, 5, 0), (frontEnd.Software, frontEnd.Samples, frontEnd.Kept, frontEnd.LackingHost));
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

    /// <summary>
    /// Clients leave at different ages. nginx counts milliseconds from the end of the request, so that a timeout of 2 s
    /// may end one that is a little younger here.
    /// </summary>
    /// <param name="sinceTick">The time before each request: clock ticks do not make a request older.</param>
    [Theory]
    [InlineData(0, false, 1.899, 1.899, 1.899, 2.0)]
    [InlineData(0.9, false, 1.1, 1.1, 1.1, 2.0)]
    [InlineData(0, true, 1.9, 1.9, 1.9)]
    [InlineData(0, true, 2.0, 2.0, 2.0)]
    [InlineData(0, false, 60.0, 30.0, 60.0)]
    [InlineData(0, false, 1.0, 1.0, 1.0)]
    [InlineData(0, false, 60.0, 61.0, 62.0)]
    public async Task Requests_GivenUpAtOneAge_AreReported(double sinceTick, bool isReported, params double[] ages)
    {
        await using var run = await DoctorRun.StartAsync();
        foreach (var age in ages)
        {
            run.Server.Clock.Advance(TimeSpan.FromSeconds(sinceTick));
            await run.GiveUpAsync(age, "nginx/1.22.1");
        }

        run.Visit();

        Assert.Equal(
            isReported, run.Reports.Any(static log => log.Message.Contains("2 s old")));
        Assert.Equal(isReported, run.Reports.Any());
    }

    [Theory]
    [InlineData("Apache/2.4.71 (Debian)", "CGIPassAuth On")]
    [InlineData("nginx/1.22.1", null)]
    public async Task Authorization_NeverPassed_IsReportedUntilItIs(string software, string? line)
    {
        await using var run = await DoctorRun.StartAsync();

        await run.ChallengeAsync(2, software);
        Assert.Empty(run.Advice);
        await run.ChallengeAsync(1, software);
        Assert.Equal(line is null ? [] : ["AuthorizationAbsent"], run.Advice.Select(static log => log.EventName));
        Assert.All(run.Advice, log => Assert.Contains(line!, log.Message));
        Assert.All(run.Advice, log => Assert.Contains(software, log.Message));
        await run.ChallengeAsync(1, software);
        Assert.Equal(line is null ? 0 : 1, run.Advice.Count());

        await run.RequestAsync(keeps: true, ("SERVER_SOFTWARE", software), ("HTTP_AUTHORIZATION", "Bearer token"));
        run.Visit();
        Assert.Empty(run.Journal.GetEntries());
    }

    /// <summary>Clients first try without it, in the same second, and through another web server too.</summary>
    [Fact]
    public async Task Authorization_Passed_NothingIsReported()
    {
        const string Software = "Apache/2.4.71 (Debian)";
        const string Other = "HAProxy 2.6.12";
        await using var run = await DoctorRun.StartAsync();

        for (var i = 0; i < 5; i++)
        {
            await run.RequestAsync(keeps: true, ("SERVER_SOFTWARE", Software), ("HTTP_CHALLENGED", "1"));
            await run.RequestAsync(
                keeps: true, ("SERVER_SOFTWARE", Software), ("HTTP_CHALLENGED", "1"),
                ("HTTP_AUTHORIZATION", "Bearer wrong"));
            await run.RequestAsync(keeps: true, ("SERVER_SOFTWARE", Software), ("HTTP_AUTHORIZATION", "Bearer token"));
        }

        await run.ChallengeAsync(5, Software);
        Assert.Empty(run.Advice);
        await run.ChallengeAsync(3, Other);
        Assert.Contains(Other, Assert.Single(run.Advice).Message);
    }

    /// <summary>An application without challenges does not ask for the header: cookies cause its 401.</summary>
    [Fact]
    public async Task Unauthorized_WithoutAChallenge_NothingIsReported()
    {
        await using var run = await DoctorRun.StartAsync();

        for (var i = 0; i < 5; i++)
            await run.RequestAsync(keeps: true, ("SERVER_SOFTWARE", "Apache/2.4"), ("HTTP_UNAUTHORIZED", "1"));
        run.Visit();

        Assert.Empty(run.Advice);
    }

    [Theory]
    [InlineData(true, "/app/", "/app/", "/app/a", "/app/b/c", "/app/a")]
    [InlineData(true, "/app/", "/favicon.ico", "/app/a", "/app/b", "/app/c", "/app/d")]
    [InlineData(false, "/app/", "/app/a", "/app/b/c", "/app/a")]
    [InlineData(false, "/app/", "/app/a", "/app/b", "/other/c", "/app/d", "/app/e", "/app/f")]
    [InlineData(false, "/found/a", "/app/a", "/app/b", "/app/c", "/app/d", "/app/e")]
    [InlineData(false, "/", "/a", "/b", "/c", "/d", "/e")]
    public async Task PathBase_Missing_IsReportedUntilARequestIsServed(bool isReported, params string[] paths)
    {
        await using var run = await DoctorRun.StartAsync();

        foreach (var path in paths)
            await run.RequestAsync(
                keeps: true,
                ("REQUEST_URI", path),
                path.StartsWith("/found", StringComparison.Ordinal) ? ("HTTP_FOUND", "1") : ("HTTP_MISSING", "1"));
        run.Visit();

        Assert.Equal(isReported ? ["PathBaseMissing"] : [], run.Reports.Select(static log => log.EventName));
        if (!isReported)
            return;

        Assert.Contains("fastcgi_param PATH_BASE /app;", run.Reports.Single().Message);
        await run.RequestAsync(keeps: true, ("REQUEST_URI", "/app/a"), ("PATH_BASE", "/app"), ("HTTP_MISSING", "1"));
        run.Visit();
        Assert.Empty(run.Journal.GetEntries());
    }
}
