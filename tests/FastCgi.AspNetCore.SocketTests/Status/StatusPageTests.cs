namespace FastCgi.AspNetCore.SocketTests.Status;

/// <summary>
/// The page in a real browser: its content is correct, its policy allows only its own script, and its tables sort.
/// </summary>
[Collection(Alone.Name)]
public sealed partial class StatusPageTests : HostTest
{
    private readonly PortReservation _reservation = new();

    protected override void Dispose(bool isDisposing)
    {
        _reservation.Dispose();
        base.Dispose(isDisposing);
    }

    [Fact]
    public async Task Page_InABrowser_ShowsRequestsLimitsAndRecommendations()
    {
        var (app, url) = await StartAsync();
        await using var disposed = app;
        using var slow = await SendSlowAsync("/slow/<b>bold</b>");

        var page = await Browser.LoadAsync(url, Folder.Path);

        Assert.Contains("/slow/&lt;b&gt;bold&lt;/b&gt;</td>", page);
        Assert.Contains("in the application</td>", page);
        Assert.Contains("<td>MaxConcurrentRequests</td><td class=\"number\">10</td>", page);
        Assert.Contains("nginx/1.22.1</td>", page);
        Assert.DoesNotContain("<b>bold", page);
        Go.SetResult();
        Assert.Equal("slow", await slow.ReadTextAsync());
    }

    [Fact]
    public async Task Tables_WhenTheirHeadIsClicked_Sort()
    {
        var (app, url) = await StartAsync();
        await using var disposed = app;
        const string Click = "document.querySelector('[data-key=limits0]').click();";

        var sorted = await LoadWithScriptAsync(url, Click + Click);

        var limits = sorted[sorted.IndexOf("id=\"limits\"", StringComparison.Ordinal)..];
        var names = Names()
            .Matches(limits[..limits.IndexOf("</table>", StringComparison.Ordinal)])
            .Select(static match => match.Groups[1].Value)
            .ToList();
        Assert.Contains("aria-sort=\"descending\"", limits);
        Assert.True(names.Count > 10);
        Assert.Equal(names.OrderDescending(StringComparer.InvariantCultureIgnoreCase), names);
    }

    [Fact]
    public async Task Lines_OfTheLastMinute_FollowTheSnapshots()
    {
        var (app, url) = await StartAsync();
        await using var disposed = app;
        // 20 and 40 requests in two seconds each. The 99th percentile rises to the same height.
        const string Snapshots = """
            minute.length = 0;
            for (const [second, total, p99] of [[0, 0, 0], [2, 20, 0.1], [4, 60, 0.2]]) {
              status.takenAt = new Date(second * 1000).toISOString();
              status.requests.total = total;
              status.recent.requestsPerSecond = 0;
              status.recent.p99 = p99;
              remember(status);
            }
            render();
            """;

        var page = await LoadWithScriptAsync(url, Snapshots);

        Assert.Equal(2, Regex.Count(page, """<polyline points="28,9\.5 29,5 30,0\.5">"""));
        Assert.Contains("at most 20\"", page);
        Assert.Contains("at most 200.0 ms\"", page);
    }

    [GeneratedRegex("<script nonce=\"([^\"]+)\"")]
    private static partial Regex Nonce();

    [GeneratedRegex("<tr><td>([^<]+)</td>")]
    private static partial Regex Names();

    /// <summary>Loads the page with one more script, which the policy of the page allows.</summary>
    private async Task<string> LoadWithScriptAsync(string url, string script)
    {
        using var http = new HttpClient();
        var page = await http.GetStringAsync(url);
        var nonce = Nonce().Match(page).Groups[1].Value;
        var file = Folder.GetPath("page.html");
        var element = $"<script nonce=\"{nonce}\">{script}</script></body>";
        await File.WriteAllTextAsync(file, page.Replace("</body>", element));
        return await Browser.LoadAsync("file://" + file, Folder.Path);
    }

    private async Task<(WebApplication App, string Url)> StartAsync()
    {
        var url = $"http://127.0.0.1:{_reservation.EndPoint.Port}/fastcgi-status";
        // The browser uses HTTP, so Kestrel serves the page.
        var builder = CreateBuilder("--urls", $"{Address};{new Uri(url).GetLeftPart(UriPartial.Authority)}");
        builder.WebHost.UseFastCgi(static options => options.Limits.MaxConcurrentRequests = 10);
        var app = Build(builder);
        app.MapFastCgiStatus().AllowAnonymous();
        await app.StartAsync();
        return (app, url);
    }
}
