using System.Net.Http.Headers;

namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>The files in <c>docs/shared-hosting.md</c>, unchanged, on a host where the user is not root.</summary>
[Trait("Category", "Users")]
public sealed class SharedHostingTests
{
    [SharedHostFact]
    public async Task FilesOfTheDocument_InAUsersFolder_ServeTheApplicationUnderItsPath()
    {
        await using var host = await SharedHost.StartAsync();

        Assert.StartsWith(
            $"GET http 127.0.0.1 {SharedHost.Path} /a b ?c=%20 127.0.0.1  ",
            await host.GetAsync("/a%20b?c=%20"));
        Assert.StartsWith($"GET http 127.0.0.1 {SharedHost.Path} /  127.0.0.1  ", await host.GetAsync("/"));
        await AssertApacheAsync(host);
        var first = await host.GetProcessAsync();
        await AssertUserAsync(host, first);
        await AssertProcessesAsync(host, first);
        await AssertRestartAsync(host, first);
    }

    /// <summary>What Apache itself does with a request.</summary>
    private static async Task AssertApacheAsync(SharedHost host)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, SharedHost.Path + "/a")
        {
            Headers = { Authorization = new AuthenticationHeaderValue("Bearer", "token") },
        };
        using var authorized = await host.SendAsync(request);
        Assert.Contains("127.0.0.1 Bearer token ", await authorized.Content.ReadAsStringAsync());
        Assert.Equal("a file of Apache\n", await host.GetAsync("/file.txt"));
        using var folder = await host.SendAsync(HttpMethod.Get, "");
        Assert.EndsWith(SharedHost.Path + "/", folder.Headers.Location!.AbsolutePath);
        using var slash = await host.SendAsync(HttpMethod.Get, "/a%2Fb");
        Assert.Equal(HttpStatusCode.NotFound, slash.StatusCode);
        using var upload = await host.SendAsync(HttpMethod.Post, "/a", new byte[131_072]);
        Assert.Equal(HttpStatusCode.OK, upload.StatusCode);
        using var tooLarge = await host.SendAsync(HttpMethod.Post, "/a", new byte[200_000]);
        Assert.Equal(HttpStatusCode.InternalServerError, tooLarge.StatusCode);
        Assert.Contains("exceeds MaxRequestLen", host.Log);
    }

    /// <summary>The application runs as the user, in her home.</summary>
    private static async Task AssertUserAsync(SharedHost host, int process)
    {
        Assert.Contains("\nUid:\t20001\t20001\t20001\t20001\n", await File.ReadAllTextAsync($"/proc/{process}/status"));
        Assert.Equal(Path.Combine(host.Home, "hello"), new FileInfo($"/proc/{process}/cwd").LinkTarget);
        var log = await File.ReadAllTextAsync(Path.Combine(host.Home, "hello.log"));
        Assert.Contains("Now listening on: fastcgi://", log);
        Assert.DoesNotContain("warn: ", log);
    }

    /// <summary>While a process is busy, another one serves the next request. They share keys, but no memory.</summary>
    private static async Task AssertProcessesAsync(SharedHost host, int first)
    {
        var ticket = await host.GetAsync("/protect");
        // mod_fcgid waits a second for a process before it starts another one.
        var busy = host.GetAsync("/block/4000");
        await Waiting.UntilAsync(
            () => File.ReadAllText(Path.Combine(host.Home, "hello.log")).Contains("/block/"),
            "the request that blocks");

        var second = await host.GetProcessAsync();
        Assert.NotEqual(first, second);
        Assert.Equal("awake", await busy);
        Assert.Equal("a secret", await host.GetAsync("/unprotect/" + ticket));
        Assert.NotEmpty(Directory.GetFiles(Path.Combine(host.Home, ".aspnet/DataProtection-Keys"), "key-*.xml"));
        Signal.Send(second, "TERM");
        await AssertEndsAsync(second);
    }

    private static async Task AssertRestartAsync(SharedHost host, int first)
    {
        var ticket = await host.GetAsync("/protect");
        await host.RunAsync("touch ~/public_html/hello/hello.fcgi");
        Assert.Equal(first, await host.GetProcessAsync());

        await host.RunAsync(await DocumentBlock.ReadAsync("shared-hosting.md", "restart without root"));
        // A request waits for seconds while mod_fcgid starts its process.
        await host.RunAsync("sed -i 's/00:05:00/00:00:04/' ~/public_html/hello/hello-2.fcgi");
        var restarted = await host.GetProcessAsync();
        Assert.NotEqual(first, restarted);
        Assert.Equal("a secret", await host.GetAsync("/unprotect/" + ticket));
        await AssertEndsAsync(restarted);
        Assert.NotEqual(restarted, await host.GetProcessAsync());
    }

    private static Task AssertEndsAsync(int process)
        => Waiting.UntilAsync(() => HasEnded(process), $"the end of process {process}");

    /// <summary>
    /// Whether its descriptors are closed, even if mod_fcgid has not noticed its end: its last thread is a zombie.
    /// </summary>
    private static bool HasEnded(int process)
    {
        try
        {
            var status = File.ReadAllLines($"/proc/{process}/status");
            return status.Any(static line => line.StartsWith("State:\tZ", StringComparison.Ordinal))
                && status.Contains("Threads:\t1");
        }
        catch (IOException)
        {
            return true;
        }
    }
}
