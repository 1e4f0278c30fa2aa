using System.Text;

namespace FastCgi.Tool.Tests;

/// <summary>The mistakes in configurations of HAProxy and lighttpd, the notes on those of nginx, and includes: found with their line, and gone without the mistake.</summary>
public sealed class DoctorConfigurationTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData(FrontEndDocument.Smallest, "    pass-header Authorization", "    # none", "problem authorization-dropped", 1, "pass-header Authorization")]
    [InlineData(FrontEndDocument.Smallest, "    option http-no-delay", "    # none", "problem streaming-held", 6, "option http-no-delay")]
    [InlineData(FrontEndDocument.Smallest, "timeout server 120s", "timeout server 50000", "note read-timeout", 14, "timeout server 120s")]
    [InlineData(FrontEndDocument.Smallest, "docroot /", "docroot /\n    no option keep-conn", "note keep-conn-missing", 3, "option keep-conn")]
    [InlineData(FrontEndDocument.Smallest, "docroot /", "docroot /\n    set-param PATH_BASE /other", "note path-base", 3, "set-param PATH_BASE /other if { path_beg /other/ } || { path /other }")]
    [InlineData(FrontEndDocument.Smallest, "server app 127.0.0.1:9000 proto fcgi", "server a 127.0.0.1:9000 proto fcgi\n    server b 127.0.0.1:9001 proto fcgi", "note keys-not-shared", 12, "PersistKeysToFileSystem(")]
    [InlineData(FrontEndDocument.Full, "PATH_BASE /app", "PATH_BASE /api", "problem path-base", 11, "set-param PATH_BASE /app if { path_beg /app/ } || { path /app }")]
    [InlineData(FrontEndDocument.BehindBalancer, " || { var(txn.forwarded_proto) -m str https }", "", "problem scheme-behind-balancer", 1, "set-param REQUEST_SCHEME https if { ssl_fc } || { var(txn.forwarded_proto) -m str https }")]
    public Task HaProxy_Mistake_IsFound(string heading, string documented, string mistaken, string finding, int number, string line)
        => AssertFoundAsync("haproxy", heading, documented, mistaken, finding, number, line);

    [Theory]
    [InlineData("chroot /var/lib/haproxy", true)]
    [InlineData("maxconn 1000", false)]
    public async Task HaProxy_SocketOutsideOfItsRoot_IsFound(string global, bool isFound)
    {
        var text = $"global\n    {global}\n\n" + GetConfiguration("haproxy", FrontEndDocument.Smallest).Replace("127.0.0.1:9000", "/run/hello/app.sock", StringComparison.Ordinal);

        var output = await RunAsync(text);

        Assert.True(isFound == output.Contains("problem chroot", StringComparison.Ordinal), output);
        Assert.Equal(isFound, output.Contains($"problem chroot  {_folder.GetPath("site.conf")}:18\n", StringComparison.Ordinal));
        Assert.Equal(isFound, output.Contains("add   server app 127.0.0.1:9000 proto fcgi\n", StringComparison.Ordinal));
    }

    /// <summary>What a section does not say is said by the defaults before it.</summary>
    [Theory]
    [InlineData("defaults\n    option http-no-delay\n    timeout server 2m\n", 0)]
    [InlineData("defaults\n    timeout server 30s\n", 2)]
    [InlineData("", 1)]
    public async Task HaProxy_Defaults_Count(string defaults, int findings)
    {
        var text = defaults + GetConfiguration("haproxy", FrontEndDocument.Smallest).Replace("    option http-no-delay ", "    # ", StringComparison.Ordinal).Replace("    timeout server 120s ", "    # ", StringComparison.Ordinal);

        var output = await RunAsync(text);

        Assert.Equal(findings, output.Split('\n').Count(static line => line.StartsWith("problem ", StringComparison.Ordinal) || line.StartsWith("note ", StringComparison.Ordinal)));
    }

    [Theory]
    [InlineData(FrontEndDocument.Smallest, "server.stream-response-body = 1", "", "problem streaming-held", 4, "server.stream-response-body = 1")]
    [InlineData(FrontEndDocument.Smallest, "    \"check-local\" => \"disable\",\n", "", "problem check-local", 4, "\"check-local\" => \"disable\"")]
    [InlineData(FrontEndDocument.Smallest, "\"mod_fastcgi\"", "\"mod_proxy\"", "problem module-missing", 4, "server.modules += (\"mod_fastcgi\")")]
    [InlineData(FrontEndDocument.Smallest, "(\"/\" =>", "(\"/app\" =>", "note path-base", 4, "$HTTP[\"url\"] =~ \"^/app(/|$)\" {")]
    [InlineData(FrontEndDocument.Smallest, "fastcgi.server", "server.max-request-size = 1024\nfastcgi.server", "note body-size", 4, "server.max-request-size = 30000")]
    [InlineData(FrontEndDocument.Smallest, "\"check-local\"", "\"read-timeout\" => 30, \"check-local\"", "note read-timeout", 4, "\"read-timeout\" => 120")]
    [InlineData(FrontEndDocument.Smallest, "\"check-local\"", "\"bin-path\" => \"/srv/hello\", \"check-local\"", "note keys-not-shared", 4, "\"max-procs\" => 1")]
    [InlineData(FrontEndDocument.Full, "\"PATH_BASE\" => \"/app\"", "\"PATH_BASE\" => \"/api\"", "problem path-base", 17, "setenv.add-environment = (\"PATH_BASE\" => \"/app\")")]
    public Task Lighttpd_Mistake_IsFound(string heading, string documented, string mistaken, string finding, int number, string line)
        => AssertFoundAsync("lighttpd", heading, documented, mistaken, finding, number, line);

    [Theory]
    [InlineData("include fastcgi_params;", "include fastcgi_params; proxy_read_timeout 300s;", "note proxy-directive", 6, "fastcgi_read_timeout 300s;")]
    [InlineData("include fastcgi_params;", "include fastcgi_params; proxy_set_header X-Request-Id $request_id;", "note proxy-directive", 6, "fastcgi_param HTTP_X_REQUEST_ID $request_id;")]
    [InlineData("fastcgi_read_timeout 120s;", "fastcgi_read_timeout 60s;", "note read-timeout", 7, "fastcgi_read_timeout 120s;")]
    [InlineData("include fastcgi_params;", "include fastcgi_params; client_max_body_size 2g;", "note upload-held", 6, "fastcgi_request_buffering off;")]
    [InlineData("include fastcgi_params;", "include fastcgi_params; fastcgi_param REMOTE_USER $remote_user; auth_basic Members; auth_basic_user_file members;", "note user-unverified", 6, "fastcgi_param AUTH_TYPE Basic;")]
    [InlineData("location / {", "location /app/ {", "note path-base", 8, "fastcgi_param PATH_BASE /app;")]
    public Task Nginx_Note_IsFound(string documented, string mistaken, string finding, int number, string line)
        => AssertFoundAsync("nginx", FrontEndDocument.Smallest, documented, mistaken, finding, number, line);

    [Theory]
    [InlineData(" enablereuse=on", "", "note keepalive-missing", 24, "enablereuse=on")]
    [InlineData(" timeout=120", "", "note read-timeout", 24, "timeout=120")]
    public Task Apache_Note_IsFound(string documented, string mistaken, string finding, int number, string line)
        => AssertFoundAsync("apache", FrontEndDocument.Full, documented, mistaken, finding, number, line);

    /// <summary>As Debian has them: the main file includes the sites, and a site what several share.</summary>
    [Fact]
    public async Task Apache_Includes_AreFollowed()
    {
        Write("sites/hello.conf", "<VirtualHost *:80>\n    Include ${SHARED}/*.conf\n    ProxyPass \"/\" \"unix:/run/hello/app.sock|fcgi://hello/\" flushpackets=on timeout=120\n</VirtualHost>\n");
        Write("sites/.hidden.conf", "ProxyPass \"/\" \"fcgi://127.0.0.1:1/\"\n");
        Write("shared/authorization.conf", "<Location \"/\">\n    CGIPassAuth On\n</Location>\n");
        Write("mods/a.load", "LoadModule proxy_module mod_proxy.so\nLoadModule proxy_fcgi_module mod_proxy_fcgi.so\n");
        var main = $"ServerRoot \"{_folder.Path}\"\nDefine SHARED shared\nIncludeOptional mods/*.load\nIncludeOptional nowhere/*.conf\nIncludeOptional sit?s/*\nInclude site.conf\n";

        var output = await RunAsync(main);
        Assert.Contains($"{_folder.GetPath("sites/hello.conf")}:3: / to unix:/run/hello/app.sock|fcgi://hello/", output, StringComparison.Ordinal);
        Assert.Contains(": 0 problems, ", output, StringComparison.Ordinal);

        Write("shared/authorization.conf", "\n");
        Write("mods/a.load", "LoadModule proxy_module mod_proxy.so\n");
        // Of a folder, all files count.
        File.Delete(_folder.GetPath("sites/.hidden.conf"));
        output = await RunAsync(main.Replace("sit?s/*", "sites", StringComparison.Ordinal));
        Assert.Contains($"problem authorization-dropped  {_folder.GetPath("sites/hello.conf")}:3\n", output, StringComparison.Ordinal);
        Assert.Contains("problem module-missing  ", output, StringComparison.Ordinal);
        Assert.Contains(": 2 problems, ", output, StringComparison.Ordinal);
    }

    /// <summary>Virtual hosts that begin at the same line of two files are two.</summary>
    [Fact]
    public async Task Apache_HostsOfSeveralFiles_AreKeptApart()
    {
        const string Host = "<VirtualHost *:80>\n    ProxyPass \"/\" \"fcgi://127.0.0.1:9000/\" flushpackets=on timeout=120\n    <Location \"/\">\n        CGIPassAuth On\n    </Location>\n</VirtualHost>\n";
        Write("sites/a.conf", Host);
        Write("sites/b.conf", Host.Replace("On", "Off", StringComparison.Ordinal));

        var output = await RunAsync($"ServerRoot {_folder.Path}\nInclude sites/*.conf\n");

        Assert.Contains($"problem authorization-dropped  {_folder.GetPath("sites/b.conf")}:2\n", output, StringComparison.Ordinal);
        Assert.Contains(": 1 problems, ", output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("include {0}/sites/*;")]
    [InlineData("include {0}/*/hello.conf;")]
    [InlineData("include site[r-t]/hell?.conf;")]
    public async Task Nginx_IncludesWithPatterns_AreFollowed(string include)
    {
        Write("sites/hello.conf", "server {\n  listen 80;\n  location / {\n    fastcgi_pass 127.0.0.1:9000;\n  }\n}\n");

        var output = await RunAsync($"http {{\n{string.Format(System.Globalization.CultureInfo.InvariantCulture, include, _folder.Path)}\n}}\n");

        Assert.Contains($"problem params-missing  {_folder.GetPath("sites/hello.conf")}:4\n", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Lighttpd_Includes_AreFollowed()
    {
        Write("conf-enabled/50-hello.conf", "fastcgi.server = (\"/\" => ((\"socket\" => \"/run/hello/\" + name)))\n");

        var output = await RunAsync("server.modules = (\"mod_fastcgi\")\nvar.name = \"app.sock\"\nname = \"app.sock\"\nserver.stream-response-body = 1\ninclude \"conf-enabled/*.conf\"\n");

        Assert.Contains($"{_folder.GetPath("conf-enabled/50-hello.conf")}:1: / to /run/hello/app.sock\n", output, StringComparison.Ordinal);
        Assert.Contains($"problem check-local  {_folder.GetPath("conf-enabled/50-hello.conf")}:1\n", output, StringComparison.Ordinal);
        Assert.Contains(": 1 problems, ", output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("ServerRoot {0}\nInclude sit*.conf\n<VirtualHost *:80>\n  ProxyPass / fcgi://127.0.0.1:9000/\n</VirtualHost>\n")]
    [InlineData("include {0}/sit*.conf;\nserver { location / { include fastcgi_params; fastcgi_pass 127.0.0.1:9000; } }\n")]
    [InlineData("include \"sit*.conf\"\nfastcgi.server = (\"/\" => ((\"port\" => 9000)))\n")]
    public async Task Include_OfTheFileItself_Ends(string text)
        => Assert.Contains("127.0.0.1:9000", await RunAsync(text.Replace("{0}", _folder.Path, StringComparison.Ordinal)), StringComparison.Ordinal);

    [Theory]
    [InlineData("haproxy", "server app 127.0.0.1:9000 proto fcgi", "server app ADDRESS", "use-fcgi-app hello\n        server app ADDRESS proto fcgi")]
    [InlineData("lighttpd", "fastcgi.server", "proxy.server", "fastcgi.server = (\"/\" => ((\"socket\" => \"ADDRESS\", \"check-local\" => \"disable\")))")]
    public async Task Http_ToTheSocket_IsFound(string server, string documented, string mistaken, string line)
    {
        await using var application = await SampleServer.StartAsync();
        application.Logs.Expected.Add("WrongProtocol");
        var address = application.Address["fastcgi://unix:".Length..];
        if (!OperatingSystem.IsWindows())
            File.SetUnixFileMode(address, (UnixFileMode)0b110_110_110);
        var text = GetConfiguration(server, FrontEndDocument.Smallest).Replace("127.0.0.1:9000 proto", "ADDRESS proto", StringComparison.Ordinal);
        var right = text.Replace("/run/hello/app.sock", address, StringComparison.Ordinal).Replace("ADDRESS", address, StringComparison.Ordinal);
        var wrong = text.Replace(documented.Replace("127.0.0.1:9000", "ADDRESS", StringComparison.Ordinal), mistaken, StringComparison.Ordinal)
            .Replace("/run/hello/app.sock", address, StringComparison.Ordinal).Replace("ADDRESS", address, StringComparison.Ordinal);

        var (code, output, _) = await ToolRun.RunAsync("doctor", _folder.Write("site.conf", Encoding.UTF8.GetBytes(wrong)));
        Assert.Equal(1, code);
        Assert.Contains("problem http-to-fastcgi  ", output, StringComparison.Ordinal);
        Assert.Contains("add   " + line.Replace("ADDRESS", address, StringComparison.Ordinal), output, StringComparison.Ordinal);

        (code, output, _) = await ToolRun.RunAsync("doctor", _folder.Write("site.conf", Encoding.UTF8.GetBytes(right)));
        Assert.True(code == 0, output);
    }

    /// <summary>HAProxy's buffer has a part that it keeps for itself.</summary>
    [Theory]
    [InlineData("", true)]
    [InlineData("global\n    tune.bufsize 5000\n", false)]
    public async Task HaProxy_HeadBeyondTheBuffer_IsFound(string global, bool isEnough)
    {
        await using var application = await SampleServer.StartAsync(usesUnixSocket: false);
        var text = global + GetConfiguration("haproxy", FrontEndDocument.Smallest).Replace("127.0.0.1:9000", application.Address["fastcgi://".Length..], StringComparison.Ordinal);

        var (_, output, _) = await ToolRun.RunAsync("doctor", _folder.Write("site.conf", Encoding.UTF8.GetBytes(text)), "--path", "/large");

        Assert.Equal(isEnough, !output.Contains("problem head-buffer  ", StringComparison.Ordinal));
        Assert.Equal(isEnough, !output.Contains("add   tune.bufsize 32768\n", StringComparison.Ordinal));
    }

    private static string GetConfiguration(string server, string heading)
        => new FrontEndDocument(server).GetConfiguration(heading, "80").Replace("listen 80 ssl", "listen 443 ssl", StringComparison.Ordinal);

    private async Task AssertFoundAsync(string server, string heading, string documented, string mistaken, string finding, int number, string line)
    {
        var right = GetConfiguration(server, heading);
        Assert.Contains(documented, right, StringComparison.Ordinal);
        var output = await RunAsync(right.Replace(documented, mistaken, StringComparison.Ordinal));

        Assert.True(output.Contains($"{finding}  {_folder.GetPath("site.conf")}:{number}\n", StringComparison.Ordinal), output);
        Assert.Contains("add   " + line, output.Replace("add   builder.Services.AddDataProtection().SetApplicationName(\"hello\").", "add   ", StringComparison.Ordinal), StringComparison.Ordinal);
        Assert.DoesNotContain(finding, await RunAsync(right), StringComparison.Ordinal);
    }

    private void Write(string name, string text)
    {
        Directory.CreateDirectory(Path.GetDirectoryName(_folder.GetPath(name))!);
        File.WriteAllText(_folder.GetPath(name), text);
    }

    private async Task<string> RunAsync(string text)
        => (await ToolRun.RunAsync("doctor", _folder.Write("site.conf", Encoding.UTF8.GetBytes(text)), "--no-connect")).Out;
}
