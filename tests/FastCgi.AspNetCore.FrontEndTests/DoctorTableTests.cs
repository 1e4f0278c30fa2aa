using FastCgi.AspNetCore.FrontEndTests.Doctor;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// The promise of <c>docs/troubleshooting.md</c>: with each fault in a real web server, the application's status or
/// <c>fastcgi doctor</c> reports it with the line to add, and with that line it no longer does.
/// </summary>
public sealed class DoctorTableTests(ITestOutputHelper output)
{
    // Covers log lines written after the response, and the server's next check.
    private static readonly TimeSpan s_timeout = TimeSpan.FromSeconds(8);

    private static readonly string s_document = File.ReadAllText(
        Path.Combine(AppContext.BaseDirectory, "Documents", "troubleshooting.md"));

    /// <summary>Only root can close a socket to the user of the web server.</summary>
    public static TheoryData<string> Names => [.. Faults.All.Where(static fault
        => Environment.IsPrivilegedProcess || fault.Value.Listener != Listener.ClosedSocket)
        .Select(static fault => fault.Key)];

    [Theory, MemberData(nameof(Names))]
    public async Task Fault_Present_ReportedWithFixUntilFixed(string name)
    {
        var fault = Faults.All[name];
        Assert.True(fault.Event is not null || fault.Rule is not null);

        await Task.WhenAll(AssertNamedAsync(fault), AssertNotNamedAsync(fault));
    }

    private async Task AssertNamedAsync(Fault fault)
    {
        await using var site = await FaultySite.StartAsync(fault, isWrong: true);
        await fault.Visit(site.Client);
        if (fault.Status != 0)
            Assert.Equal(fault.Status, await GetStatusAsync(fault, site));
        if (fault.Log is { } text)
        {
            await Waiting.UntilAsync(() => site.FrontEndLog.Contains(text), text);
            Assert.Contains(text, s_document);
        }

        if (fault.Event is var (eventName, eventLine))
        {
            var found = await FindAsync(site, eventName);
            Assert.True(found is not null, $"{eventName} is not recommended");
            output.WriteLine($"{eventName}: {found}");
            Assert.Contains(eventLine, found);
            Assert.Contains(site.Log.All, log => log.Message.Contains(found));
            Assert.Matches(@"See https://\S+/docs/[\w-]+\.md#[\w-]+\.", found);
        }

        if (fault.Rule is var (id, line))
        {
            var report = await site.AskToolAsync();
            output.WriteLine(report);
            var findings = report.Split("\n\n")
                .Where(part => part.Contains($" {id}  ")).ToList();
            Assert.True(findings.Count > 0, $"{id} is not found");
            Assert.Contains(findings, finding => finding[finding.IndexOf("  fix     ", StringComparison.Ordinal)..]
                .Contains(line));
            Assert.All(findings, static finding => Assert.Contains("/blob/main/docs/", finding));
        }
    }

    private static async Task AssertNotNamedAsync(Fault fault)
    {
        // Apache has no setting that fixes it.
        if (fault is { Kind: FrontEndKind.Apache, Rule.Id: "head-buffer" })
            return;

        await using var site = await FaultySite.StartAsync(fault, isWrong: false);
        await fault.Visit(site.Client);
        if (fault.Status != 0)
            Assert.NotEqual(fault.Status, await GetStatusAsync(fault, site));
        if (fault.Event is var (eventName, _))
        {
            if (fault.IsSeenByCheck)
                await site.WaitForCheckAsync();
            Assert.DoesNotContain(eventName, await site.GetRecommendationsAsync());
        }

        if (fault.Rule is var (id, _))
            Assert.DoesNotContain($" {id}  ", await site.AskToolAsync());
    }

    /// <summary>Requests a page, to confirm that clients see the fault.</summary>
    private static async Task<HttpStatusCode> GetStatusAsync(Fault fault, FaultySite site)
    {
        var size = fault.Name.Contains("the application's") ? 1_001 : 1_100_000;
        using var response = fault.Name.StartsWith("uploads", StringComparison.Ordinal)
            ? await site.Client.PostAsync("/", new ByteArrayContent(new byte[size]))
            : await site.Client.GetAsync("/");
        return response.StatusCode;
    }

    private static async Task<string?> FindAsync(FaultySite site, string eventName)
    {
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(100));
        var end = DateTime.UtcNow + s_timeout;
        while (true)
        {
            if ((await site.GetRecommendationsAsync()).TryGetValue(eventName, out var message) || DateTime.UtcNow > end)
                return message;
            await timer.WaitForNextTickAsync();
        }
    }
}
