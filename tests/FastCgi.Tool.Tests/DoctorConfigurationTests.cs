namespace FastCgi.Tool.Tests;

/// <summary>Includes, defaults, and what depends on an address.</summary>
public sealed class DoctorConfigurationTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("chroot /var/lib/haproxy", true)]
    [InlineData("maxconn 1000", false)]
    public async Task HaProxy_SocketOutsideOfItsRoot_IsFound(string global, bool isFound)
    {
        var text = $"global\n    {global}\n\n" + GetConfiguration("haproxy", FrontEndDocument.Smallest).Replace(
            "127.0.0.1:9000", "/run/hello/app.sock");

        var output = await RunAsync(text);

        Assert.True(isFound == output.Contains("problem chroot"), output);
        Assert.Equal(isFound, output.Contains($"problem chroot  {_folder.GetPath("site.conf")}:18\n"));
        Assert.Equal(isFound, output.Contains("fix     server app 127.0.0.1:9000 proto fcgi\n"));
    }

    /// <summary>A section inherits from the preceding defaults.</summary>
    [Theory]
    [InlineData("defaults\n    option http-no-delay\n    timeout server 2m\n", 0)]
    [InlineData("defaults\n    timeout server 30s\n", 2)]
    [InlineData("", 1)]
    public async Task HaProxy_Defaults_Count(string defaults, int findings)
    {
        var text = defaults
            + GetConfiguration("haproxy", FrontEndDocument.Smallest)
                .Replace("    option http-no-delay ", "    # ")
                .Replace("    timeout server 120s ", "    # ");

        var output = await RunAsync(text);

        Assert.Equal(findings, output.Split('\n').Count(
            static line => line.StartsWith("problem ", StringComparison.Ordinal)
                || line.StartsWith("note ", StringComparison.Ordinal)));
    }

    /// <summary>As Debian has them: the main file includes the sites, and a site what several share.</summary>
    [Fact]
    public async Task Apache_Includes_AreFollowed()
    {
        Write(
            "sites/hello.conf",
            "<VirtualHost *:80>\n    Include ${SHARED}/*.conf\n    ProxyPass \"/\" "
                + "\"unix:/run/hello/app.sock|fcgi://hello/\" flushpackets=on timeout=120\n</VirtualHost>\n");
        Write("sites/.hidden.conf", "ProxyPass \"/\" \"fcgi://127.0.0.1:1/\"\n");
        Write("shared/authorization.conf", "<Location \"/\">\n    CGIPassAuth On\n</Location>\n");
        Write("mods/a.load", "LoadModule proxy_module mod_proxy.so\nLoadModule proxy_fcgi_module mod_proxy_fcgi.so\n");
        var main =
            $"ServerRoot \"{_folder.Path}\"\nDefine SHARED shared\nIncludeOptional mods/*.load\n"
                + "IncludeOptional nowhere/*.conf\nIncludeOptional sit?s/*\nInclude site.conf\n";

        var output = await RunAsync(main);
        Assert.Contains(
            $"{_folder.GetPath("sites/hello.conf")}:3: / to unix:/run/hello/app.sock|fcgi://hello/",
            output);
        Assert.Contains(": 0 problems, ", output);

        Write("shared/authorization.conf", "\n");
        Write("mods/a.load", "LoadModule proxy_module mod_proxy.so\n");
        // Of a folder, all files count.
        File.Delete(_folder.GetPath("sites/.hidden.conf"));
        output = await RunAsync(main.Replace("sit?s/*", "sites"));
        Assert.Contains($"problem authorization-dropped  {_folder.GetPath("sites/hello.conf")}:3\n", output);
        Assert.Contains("problem module-missing  ", output);
        Assert.Contains(": 2 problems, ", output);
    }

    /// <summary>Virtual hosts that begin at the same line of two files are two.</summary>
    [Fact]
    public async Task Apache_HostsOfSeveralFiles_AreKeptApart()
    {
        const string Host =
            "<VirtualHost *:80>\n    ProxyPass \"/\" \"fcgi://127.0.0.1:9000/\" flushpackets=on timeout=120\n"
                + "    <Location \"/\">\n        CGIPassAuth On\n    </Location>\n</VirtualHost>\n";
        Write("sites/a.conf", Host);
        Write("sites/b.conf", Host.Replace("On", "Off"));

        var output = await RunAsync($"ServerRoot {_folder.Path}\nInclude sites/*.conf\n");

        Assert.Contains($"problem authorization-dropped  {_folder.GetPath("sites/b.conf")}:2\n", output);
        Assert.Contains(": 1 problem, ", output);
    }

    [Theory]
    [InlineData("include {0}/sites/*;")]
    [InlineData("include {0}/*/hello.conf;")]
    [InlineData("include site[r-t]/hell?.conf;")]
    public async Task Nginx_IncludesWithPatterns_AreFollowed(string include)
    {
        Write("sites/hello.conf", "server {\n  listen 80;\n  location / {\n    fastcgi_pass 127.0.0.1:9000;\n  }\n}\n");

        var output = await RunAsync($"http {{\n{include.Replace("{0}", _folder.Path, StringComparison.Ordinal)}\n}}\n");

        Assert.Contains($"problem params-missing  {_folder.GetPath("sites/hello.conf")}:4\n", output);
    }

    [Fact]
    public async Task Lighttpd_Includes_AreFollowed()
    {
        Write("conf-enabled/50-hello.conf", "fastcgi.server = (\"/\" => ((\"socket\" => \"/run/hello/\" + name)))\n");

        var output = await RunAsync(
            "server.modules = (\"mod_fastcgi\")\nvar.name = \"app.sock\"\nname = \"app.sock\"\n"
                + "server.stream-response-body = 1\ninclude \"conf-enabled/*.conf\"\n");

        Assert.Contains($"{_folder.GetPath("conf-enabled/50-hello.conf")}:1: / to /run/hello/app.sock\n", output);
        Assert.Contains($"problem only-files  {_folder.GetPath("conf-enabled/50-hello.conf")}:1\n", output);
        Assert.Contains(": 1 problem, ", output);
    }

    [Theory]
    [InlineData(
        "ServerRoot {0}\nInclude sit*.conf\n"
            + "<VirtualHost *:80>\n  ProxyPass / fcgi://127.0.0.1:9000/\n</VirtualHost>\n")]
    [InlineData(
        "include {0}/sit*.conf;\nserver { location / { include fastcgi_params; fastcgi_pass 127.0.0.1:9000; } }\n")]
    [InlineData("include \"sit*.conf\"\nfastcgi.server = (\"/\" => ((\"port\" => 9000)))\n")]
    public async Task Include_OfTheFileItself_Ends(string text)
        => Assert.Contains(
            "127.0.0.1:9000",
            await RunAsync(text.Replace("{0}", _folder.Path)));

    /// <summary>HAProxy reserves a part of its buffer.</summary>
    [Theory]
    [InlineData("", true)]
    [InlineData("global\n    tune.bufsize 5000\n", false)]
    public async Task HaProxy_HeadBeyondTheBuffer_IsFound(string global, bool isEnough)
    {
        await using var application = await SampleServer.StartAsync(usesUnixSocket: false);
        var text = global + GetConfiguration("haproxy", FrontEndDocument.Smallest).Replace(
            "127.0.0.1:9000", application.Address["fastcgi://".Length..]);

        var (_, output, _) = await ToolRun.RunAsync(
            "doctor", _folder.Write("site.conf", Encoding.UTF8.GetBytes(text)), "--path", "/large");

        Assert.Equal(isEnough, !output.Contains("problem head-buffer  "));
        Assert.Equal(isEnough, !output.Contains("fix     tune.bufsize 32768\n"));
    }

    private static string GetConfiguration(string server, string heading)
        => new FrontEndDocument(server).GetConfiguration(heading, "80")
            .Replace("listen 80 ssl", "listen 443 ssl");

    private void Write(string name, string text)
    {
        Directory.CreateDirectory(Path.GetDirectoryName(_folder.GetPath(name))!);
        File.WriteAllText(_folder.GetPath(name), text);
    }

    private async Task<string> RunAsync(string text)
        => (
            await ToolRun.RunAsync(
                "doctor", _folder.Write("site.conf", Encoding.UTF8.GetBytes(text)), "--no-connect")).Out;
}
