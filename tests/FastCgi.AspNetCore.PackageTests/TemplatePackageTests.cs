namespace FastCgi.AspNetCore.PackageTests;

/// <summary>
/// The output of <c>dotnet new fastcgi-web</c>: its test passes, and its unit and nginx configuration serve it.
/// </summary>
public sealed partial class TemplatePackageTests : IDisposable
{
    // A service name has neither capitals nor dots.
    private const string Name = "My.Shop";
    private const string ServiceName = "my-shop";

    private readonly ScratchFolder _folder = new();

    private string Created => _folder.GetPath("created");

    private string Published => _folder.GetPath("published");

    [Fact]
    public async Task Application_Created_IsTestedAndServedByItsFiles()
    {
        await CreateAsync();
        AssertNamesAreReplaced();

        var tested = await DotnetCommand.RunAsync(Created, "test", "-p:NuGetAudit=false");
        Assert.Matches(@"Passed!\s+- Failed:\s+0, Passed:\s+1", tested);
        Assert.DoesNotContain("warning", tested);
        await DotnetCommand.RunAsync(Created, "publish", Name, "-o", Published, "-p:NuGetAudit=false");

        await using var application = await StartApplicationAsync();
        await using var nginx = new WebServerProcess(_folder.Path);
        await StartNginxAsync(nginx);
        using var client = new HttpClient
        {
            BaseAddress = new Uri($"http://{nginx.EndPoint}"),
            DefaultRequestHeaders = { Host = $"{ServiceName}.example.com" },
        };
        Assert.Equal("Hello World!", await client.GetStringAsync("/"));
        Assert.Equal("Healthy", await client.GetStringAsync("/health"));
        Assert.DoesNotContain("warn:", application.Output);
    }

    /// <summary>The commands in the README, unchanged, with Debian's nginx and without systemd.</summary>
    [MachineFact]
    public async Task Readme_Copied_EndsInAnAnswer()
    {
        await CreateAsync();
        var commands = ShellBlock().Match(await File.ReadAllTextAsync(Created + "/README.md")).Groups["text"].Value;
        var programs = Directory.CreateDirectory(_folder.GetPath("programs")).FullName;
        File.Copy(Path.Combine(AppContext.BaseDirectory, "systemctl.sh"), Path.Combine(programs, "systemctl"));
        var script = _folder.GetPath("machine.sh");
        await File.WriteAllTextAsync(script, string.Join('\n', [
            "set -e",
            "ip link set lo up",
            $"cp -r /etc '{_folder.Path}/etc'",
            $"mount --bind '{_folder.Path}/etc' /etc",
            "for path in /run /srv /var/lib /var/log; do mount -t tmpfs tmpfs $path; done",
            "mkdir /var/lib/nginx /var/log/nginx",
            "rm -f /etc/nginx/conf.d/*",
            $"PATH='{programs}':$PATH",
            $"cd '{Created}'",
            commands,
        ]));

        var (exitCode, output) = await ReadmeTests.RunAsync(
            ["--mount", "--net", "--pid", "--fork", "--kill-child", "bash", script]);

        Assert.True(exitCode == 0 && output.Contains("\nHealthy\n"), output);
    }

    public void Dispose() => _folder.Dispose();

    /// <summary>From the packages in a folder, installed into a separate template hive.</summary>
    private async Task CreateAsync()
    {
        var feed = await PackageFeed.Instance;
        var hive = _folder.GetPath("hive");
        await DotnetCommand.RunAsync(
            _folder.Path,
            "new",
            "install",
            $"FastCgi.AspNetCore.Templates::{PackageFeed.Version}",
            "--add-source",
            feed.Path,
            "--debug:custom-hive",
            hive);
        await DotnetCommand.RunAsync(
            _folder.Path, "new", "fastcgi-web", "--name", Name, "--output", Created, "--debug:custom-hive", hive);
        await File.WriteAllTextAsync(
            Path.Combine(Created, "nuget.config"),
            $"""
            <configuration><packageSources><add key="feed" value="{feed.Path}" /></packageSources></configuration>
            """);
    }

    private void AssertNamesAreReplaced()
        => Assert.All(
            Directory.GetFiles(Created, "*", SearchOption.AllDirectories),
            file => Assert.DoesNotMatch(
                @"(?i)fastcgiweb|fcgi-service|_\w+Version_|\bapp/|/app\b(?!\.sock)",
                $"{Path.GetRelativePath(Created, file)} {File.ReadAllText(file)}"));

    /// <summary>With the command and the environment of the unit.</summary>
    private async Task<ServerProcess> StartApplicationAsync()
    {
        var unit = await File.ReadAllTextAsync($"{Created}/deploy/{ServiceName}.service");
        var environment = Setting()
            .Matches(unit)
            .Select(match => match.Groups["value"].Value.Replace($"/run/{ServiceName}", _folder.Path))
            // Only root can assign the socket to the group.
            .Where(static value => Environment.IsPrivilegedProcess || !value.Contains("__Group"))
            .Select(
                static value => Environment.IsPrivilegedProcess
                    ? value
                    : value.Replace("__Mode=0660", "__Mode=0666"));
        var program = Command()
            .Match(unit).Groups["value"].Value.Replace($"/srv/{ServiceName}", Published);
        var process = ServerProcess.Start("env", ["--chdir=" + Published, .. environment, program]);
        await process.WaitForOutputAsync("Application started.");
        return process;
    }

    private async Task StartNginxAsync(WebServerProcess nginx)
    {
        File.Copy(Programs.NginxParameters, _folder.GetPath("fastcgi_params"));
        var frame = await File.ReadAllTextAsync(
            Path.Combine(AppContext.BaseDirectory, "FrontEnds", "nginx-frame.conf"));
        var server = (await File.ReadAllTextAsync(Created + "/deploy/nginx.conf"))
            .Replace("listen 80;", $"listen {nginx.EndPoint};")
            // The configuration uses port 80.
            .Replace("include fastcgi_params;", "include fastcgi_params; fastcgi_param SERVER_PORT 80;")
            .Replace($"/run/{ServiceName}", _folder.Path);
        await File.WriteAllTextAsync(_folder.GetPath("nginx.conf"), frame.Replace("{{document}}", server));
        await nginx.StartAsync("nginx", ["-p", _folder.Path, "-c", "nginx.conf", "-e", "error.log"]);
    }

    [GeneratedRegex("^Environment=(?<value>.*)$", RegexOptions.Multiline)]
    private static partial Regex Setting();

    [GeneratedRegex("^ExecStart=(?<value>.*)$", RegexOptions.Multiline)]
    private static partial Regex Command();

    [GeneratedRegex("^```sh\n(?<text>.*?)^```$", RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex ShellBlock();
}
