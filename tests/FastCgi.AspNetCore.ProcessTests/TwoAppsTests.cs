namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>The sample with two applications in one process.</summary>
public sealed class TwoAppsTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    private UnixDomainSocketEndPoint Shop => new(_folder.Path + "/shop.sock");

    private UnixDomainSocketEndPoint Blog => new(_folder.Path + "/blog.sock");

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Restart_OneOfTwoApplications_OtherLosesNoRequest()
    {
        await using var app = await StartAsync();
        Assert.Contains("The shop, at /shop", await GetAsync(Shop, "/shop/"));

        using var end = new CancellationTokenSource();
        var readers = Enumerable.Range(0, 4).Select(_ => ReadBlogAsync(end.Token)).ToList();
        using var connection = await FastCgiClient.ConnectAsync(Blog);
        for (var i = 0; i < 3; i++)
        {
            await connection.SendAsync("/blog/restart-shop", method: "POST");
            Assert.Contains("The shop was restarted.", await connection.TryReadAnswerAsync());
            Assert.Contains("The shop, at /shop", await GetAsync(Shop, "/shop/"));
        }

        await end.CancelAsync();
        Assert.All(await Task.WhenAll(readers), static count => Assert.True(count > 0));
        Assert.Equal(0, await app.EndAsync("TERM"));
    }

    private static async Task<string?> GetAsync(UnixDomainSocketEndPoint application, string uri)
    {
        using var connection = await FastCgiClient.ConnectAsync(application);
        await connection.SendAsync(uri, keepConnection: false);
        return await connection.TryReadAnswerAsync();
    }

    /// <returns>How many requests were answered, which is all of them.</returns>
    private async Task<int> ReadBlogAsync(CancellationToken end)
    {
        using var connection = await FastCgiClient.ConnectAsync(Blog);
        for (var count = 0; ; count++)
        {
            if (end.IsCancellationRequested)
                return count;

            await connection.SendAsync("/blog/");
            Assert.Contains("The blog, at /blog", await connection.TryReadAnswerAsync());
        }
    }

    private Task<AppProcess> StartAsync(params string[] arguments)
    {
        var program = AppProcess.GetProgram("TwoApps");
        return AppProcess.StartProgramAsync(
            program,
            startCount: 2,
            [
                "--contentRoot", Path.GetDirectoryName(program)!, "--Shop:FastCgi:Endpoints:Web:Url",
                $"fastcgi://unix:{Shop}", "--Blog:FastCgi:Endpoints:Web:Url", $"fastcgi://unix:{Blog}", .. arguments]);
    }
}
