namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Advice on the web server's configuration, based on responses; correct setups get none.</summary>
public sealed class AnswerAdviceTests
{
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
            isReported, run.Reports.Any(static log => log.Message.Contains("2 s old", StringComparison.Ordinal)));
        Assert.Equal(isReported, run.Reports.Any());
    }

    [Theory]
    [InlineData("Apache/2.4.71 (Debian)", "CGIPassAuth On")]
    [InlineData("HAProxy 2.6.12", "pass-header Authorization")]
    [InlineData("nginx/1.22.1", null)]
    public async Task Authorization_NeverPassed_LineIsNamedUntilItIs(string software, string? line)
    {
        await using var run = await DoctorRun.StartAsync();

        await run.ChallengeAsync(2, software);
        Assert.Empty(run.Advice);
        await run.ChallengeAsync(1, software);
        Assert.Equal(line is null ? [] : ["AuthorizationAbsent"], run.Advice.Select(static log => log.EventName));
        Assert.All(run.Advice, log => Assert.Contains(line!, log.Message, StringComparison.Ordinal));
        Assert.All(run.Advice, log => Assert.Contains(software, log.Message, StringComparison.Ordinal));
        await run.ChallengeAsync(1, software);
        Assert.Equal(line is null ? 0 : 1, run.Advice.Count());

        await run.RequestAsync(keeps: true, ("SERVER_SOFTWARE", software), ("HTTP_AUTHORIZATION", "Bearer token"));
        run.Visit();
        Assert.Empty(run.Journal.GetEntries());
    }

    /// <summary>Clients first try without it, in the same second, and through another web server too.</summary>
    [Theory]
    [InlineData("Apache/2.4.71 (Debian)", "HAProxy 2.6.12")]
    [InlineData("HAProxy 2.6.12", "Apache/2.4.71 (Debian)")]
    public async Task Authorization_Passed_NothingIsSaid(string software, string other)
    {
        await using var run = await DoctorRun.StartAsync();

        for (var i = 0; i < 5; i++)
        {
            await run.RequestAsync(keeps: true, ("SERVER_SOFTWARE", software), ("HTTP_CHALLENGED", "1"));
            await run.RequestAsync(
                keeps: true, ("SERVER_SOFTWARE", software), ("HTTP_CHALLENGED", "1"),
                ("HTTP_AUTHORIZATION", "Bearer wrong"));
            await run.RequestAsync(keeps: true, ("SERVER_SOFTWARE", software), ("HTTP_AUTHORIZATION", "Bearer token"));
        }

        await run.ChallengeAsync(5, software);
        Assert.Empty(run.Advice);
        await run.ChallengeAsync(3, other);
        Assert.Contains(other, Assert.Single(run.Advice).Message, StringComparison.Ordinal);
    }

    /// <summary>An application without challenges does not ask for the header: cookies cause its 401.</summary>
    [Fact]
    public async Task Unauthorized_WithoutAChallenge_NothingIsSaid()
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

        Assert.Contains("fastcgi_param PATH_BASE /app;", run.Reports.Single().Message, StringComparison.Ordinal);
        await run.RequestAsync(keeps: true, ("REQUEST_URI", "/app/a"), ("PATH_BASE", "/app"), ("HTTP_MISSING", "1"));
        run.Visit();
        Assert.Empty(run.Journal.GetEntries());
    }
}
