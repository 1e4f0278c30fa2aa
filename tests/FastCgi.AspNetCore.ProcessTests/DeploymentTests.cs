using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>The blocks of <c>docs/deploy.md</c>, unchanged, under systemd and behind nginx.</summary>
[Trait("Category", "Users")]
public sealed partial class DeploymentTests(ITestOutputHelper output)
{
    // FASTCGI_DEPLOYMENT_REQUESTS overrides the number.
    private static readonly int s_requestCount =
        int.Parse(
            Environment.GetEnvironmentVariable("FASTCGI_DEPLOYMENT_REQUESTS") ?? "4000", CultureInfo.InvariantCulture);

    private const string SignIn =
        """
        site() { curl -fsS -H 'Host: app.example.com' -b /tmp/cookies -c /tmp/cookies "http://127.0.0.1$@"; }
        token=$(site /Account/Login | grep -o '__RequestVerificationToken[^>]*value="[^"]*' | sed 's/.*"//')
        site /Account/Login -o /dev/null --data-urlencode "__RequestVerificationToken=$token" \
            -d 'Name=Ada&Password=fastcgi'
        """;

    // A page for signed-in users; others are redirected to the form.
    private const string IsSignedIn =
        "curl -fsS -o /dev/null -w '%{http_code}' -H 'Host: app.example.com' -b /tmp/cookies http://127.0.0.1/Account";

    [SystemdFact]
    public async Task Blocks_RunAsTheyStand_OnlyTheFirstSetUpLosesARequest()
    {
        Assert.Contains(
            await ReadAsync("keys"),
            await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "Documents", "Mvc.Program.cs")));
        await using var root = await SystemdRoot.StartAsync();
        await RunBlockAsync(root, "publish");
        await RunBlockAsync(root, "units");

        await ConfigureNginxAsync(root, await ReadAsync("nginx"));
        var answer = await RunBlockAsync(root, "one process");
        Assert.EndsWith("<title>Home Page - Mvc</title>", answer.TrimEnd());
        // The console formatter's "info: " would mean that the journal does not know the levels.
        var journal = await root.RunAsync("journalctl --no-pager -o cat -u app");
        Assert.Contains("Now listening on: fastcgi://unix:/run/app/app.sock", journal);
        Assert.DoesNotContain("info: ", journal);
        await root.RunAsync(SignIn);
        await RunBlockAsync(root, "restart one process");
        Assert.Equal("200", await root.RunAsync(IsSignedIn));

        await RunBlockAsync(root, "socket");
        await RestartUnderLoadAsync(root, "restart behind the socket");
        await RunOnDemandAsync(root);

        var upstream = await ReadAsync("two instances in nginx");
        await ConfigureNginxAsync(root, Upstream().Replace(await ReadAsync("nginx"), upstream, 1));
        // The reload returns before nginx's old processes have ended.
        await root.RunAsync(
            $"""
            master=$(cat /run/nginx.pid)
            old=$(cat /proc/$master/task/$master/children)
            {await ReadAsync("two instances")}
            while kill -0 $old; do sleep 0.1; done 2>/dev/null
            """);
        await root.RunAsync("truncate --size 0 /var/log/nginx/error.log");
        await RestartUnderLoadAsync(root, "rolling restart");
        Assert.Equal("200", await root.RunAsync(IsSignedIn));
        var log = await root.RunAsync("cat /var/log/nginx/error.log");
        var lines = log.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.NotEmpty(lines);
        Assert.All(lines, line => Assert.Matches(Announced(), line));
    }

    private static Task<string> ReadAsync(string block) => DocumentBlock.ReadAsync("deploy.md", block);

    private static async Task<string> RunBlockAsync(SystemdRoot root, string block)
        => await root.RunAsync(await ReadAsync(block));

    private static Task ConfigureNginxAsync(SystemdRoot root, string configuration)
        => root.RunAsync($"cat >/etc/nginx/conf.d/app.conf <<'END'\n{configuration}\nEND");

    private static async Task RunOnDemandAsync(SystemdRoot root)
    {
        await root.RunAsync((await ReadAsync("on demand")).Replace("00:10:00", "00:00:01"));
        await Waiting.UntilAsync(
            async () => (await root.TryRunAsync("systemctl is-active app")).Output.Trim() == "inactive",
            static () => null,
            "the idle process to end");
        // The answer shows that it runs again. On a busy machine, it may have ended since.
        await root.RunAsync("curl -fsS -o /dev/null -H 'Host: app.example.com' http://127.0.0.1/");
    }

    /// <summary>
    /// Runs the last line of the block, the restart, while clients send GET and POST over persistent and new
    /// connections.
    /// </summary>
    private async Task RestartUnderLoadAsync(SystemdRoot root, string block)
    {
        string[] kinds =
        [
            "-k", "-k -p /tmp/form -T application/x-www-form-urlencoded", "",
            "-p /tmp/form -T application/x-www-form-urlencoded",
        ];
        await root.RunAsync("echo a=b >/tmp/form");
        var lines = (await ReadAsync(block)).Split('\n');
        // Publishing takes longer than the requests.
        await root.RunAsync(string.Join('\n', lines.SkipLast(1)));
        var (count, restarts, isOver) = (0, 0, false);
        var clients = Task.WhenAll(kinds.Select(SendAsync));
        do
        {
            await root.RunAsync(lines[^1]);
            restarts++;
            // systemd stops restarting a unit after five starts in ten seconds.
            await Task.WhenAny(clients, Task.Delay(TimeSpan.FromSeconds(2.1)));
        }
        while (Volatile.Read(ref count) < s_requestCount && !clients.IsCompleted);

        Volatile.Write(ref isOver, true);
        await clients;
        output.WriteLine($"{block}: {count} requests, {restarts} times.");

        async Task SendAsync(string kind)
        {
            while (!Volatile.Read(ref isOver))
            {
                var report = await root.RunAsync(
                    $"ab -q -l -r -c 4 -n 250 -H 'Host: app.example.com' {kind} http://127.0.0.1/");
                Assert.Equal(250, Count(report, "Complete requests"));
                Assert.Equal(0, Count(report, "Failed requests"));
                Assert.DoesNotContain("Non-2xx responses", report);
                Interlocked.Add(ref count, 250);
            }
        }
    }

    private static int Count(string report, string name)
        => int.Parse(Regex.Match(report, name + @": +(\d+)").Groups[1].Value, CultureInfo.InvariantCulture);

    /// <summary>The lines that the page predicts in nginx's log.</summary>
    [GeneratedRegex(
        @" connect\(\) to unix:/run/app-[12]/app\.sock failed \(111: Connection refused\) "
            + "while connecting to upstream,")]
    private static partial Regex Announced();

    [GeneratedRegex(@"^upstream app \{\n.*?\n\}", RegexOptions.Singleline)]
    private static partial Regex Upstream();
}
