using System.Runtime.Versioning;

namespace FastCgi.Tool.Tests;

/// <summary>The command, and what it finds at an address.</summary>
public sealed class DoctorCommandTests : IAsyncLifetime, IDisposable
{
    private const string Socket = "/run/hello/app.sock";
    private const string Params = "include fastcgi_params;";

    private readonly ScratchFolder _folder = new();
    private SampleServer? _server;

    private string SocketPath => _server!.Address["fastcgi://unix:".Length..];

    public async Task InitializeAsync() => _server = await SampleServer.StartAsync();

    public async Task DisposeAsync() => await _server!.DisposeAsync();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Nginx_WholeConfiguration_IsReadWithItsFiles()
    {
        var text =
            "nginx: the configuration file /x/nginx.conf syntax is ok\n# configuration file /x/nginx.conf:\nhttp {\n"
                + "  include /x/sites/*;\n}\n"
            + "# configuration file /x/sites/a:\nserver {\n  listen 80;\n"
            + "  location / { fastcgi_pass unix:/run/hello/app.sock; }\n}\n";

        Assert.Contains("problem params-missing  /x/sites/a:3\n", (await RunAsync(text, "--no-connect")).Output);
    }

    [LinuxFact]
    public async Task Socket_Absent_IsFoundInConfiguration()
    {
        foreach (var server in new[] { "nginx", "apache" })
        {
            var (code, output, _) = await RunAsync(
                Replace(GetConfiguration(server, FrontEndDocument.Smallest), Socket, "/nonexistent/app.sock"));

            Assert.Equal(1, code);
            Assert.Contains("problem no-socket  /nonexistent/app.sock\n", output);
            Assert.Contains("fix     --urls 'fastcgi://unix:/nonexistent/app.sock?mode=0660&group=", output);
        }
    }

    [Theory]
    [InlineData(
        "nginx",
        "fastcgi_pass unix:/run/hello/app.sock;",
        "proxy_pass http://unix:/run/hello/app.sock:;",
        "include fastcgi_params;\n          fastcgi_pass unix:SOCKET;")]
    [InlineData(
        "apache",
        "|fcgi://hello/",
        "|http://hello/",
        "ProxyPass \"/\" \"unix:SOCKET|fcgi://hello/\" flushpackets=on")]
    [InlineData("haproxy", " proto fcgi", "", "use-fcgi-app hello\n          server app SOCKET proto fcgi")]
    [InlineData(
        "lighttpd",
        "fastcgi.server",
        "proxy.server",
        "fastcgi.server = (\"/\" => ((\"socket\" => \"SOCKET\", \"check-local\" => \"disable\")))")]
    public async Task Http_ToTheSocket_IsFound(string server, string documented, string mistaken, string line)
    {
        _server!.Logs.Expected.Add("WrongProtocol");
        OpenSocket();
        var right = GetConfiguration(server, FrontEndDocument.Smallest)
            .Replace("server app 127.0.0.1:9000", "server app " + Socket);
        var wrong = Replace(right, documented, mistaken);

        var (code, output, _) = await RunAsync(wrong.Replace(Socket, SocketPath));
        Assert.Equal(1, code);
        Assert.Contains("problem other-protocol  ", output);
        var added = line.Replace("SOCKET", SocketPath);
        Assert.Contains("fix     " + added, output);

        (code, output, _) = await RunAsync(right.Replace(Socket, SocketPath));
        Assert.True(code == 0, output);
    }

    [LinuxFact]
    public async Task Socket_Permissions_AreReported()
    {
        if (!OperatingSystem.IsWindows())
            File.SetUnixFileMode(SocketPath, UnixFileMode.UserRead | UnixFileMode.UserWrite);
        var (_, output, _) = await ToolRun.RunAsync("doctor", _server!.Address);

        Assert.Contains($"{SocketPath}: mode 0600, ", output);
        Assert.Contains($"{_server.Address}: GET / returns 200 in ", output);
        Assert.Contains("GET_VALUES FCGI_MAX_CONNS=", output);
        string[] webServers = ["www-data:", "nginx:", "caddy:", "haproxy:", "lighttpd:", "http:", "apache:"];
        var isOneThere = File.ReadLines("/etc/passwd")
            .Any(line => webServers.Any(user => line.StartsWith(user, StringComparison.Ordinal)));
        Assert.Contains(isOneThere ? "problem permission  " : "no web-server user", output);
    }

    [Fact]
    public async Task Head_BeyondTheBuffer_IsAProblem()
    {
        var text =
            GetConfiguration("nginx", FrontEndDocument.Smallest).Replace(Socket, SocketPath);

        var (code, output, _) = await RunAsync(text, "--path", "/large");

        Assert.Equal(1, code);
        Assert.Matches(
            @"problem head-buffer  fastcgi://unix:.*\n  found   /large returns 5\d\d\d bytes of response headers",
            output);
    }

    [Fact]
    public async Task Json_HasTheFindings()
    {
        var (_, output, _) = await RunAsync(
            Replace(GetConfiguration("nginx", FrontEndDocument.Smallest), Params, ""), "--no-connect", "--json");
        var document = JsonDocument.Parse(output).RootElement;

        Assert.Equal(1, document.GetProperty("problems").GetInt32());
        var finding = document.GetProperty("findings").EnumerateArray().First();
        Assert.Equal("params-missing", finding.GetProperty("id").GetString());
        Assert.Equal("include fastcgi_params;", finding.GetProperty("line").GetString());
        Assert.EndsWith(
            "/blob/main/docs/troubleshooting.md#400-bad-request",
            finding.GetProperty("document").GetString());
    }

    /// <summary>The web server's own check comes first.</summary>
    [Theory]
    [InlineData(
        "nginx",
        "events {}\nhttp {\nserver { listen 80; location / { fastcgi_nothing on; fastcgi_pass 127.0.0.1:9000; } } }",
        "nginx -t -q -c ",
        "unknown directive \"fastcgi_nothing\"")]
    [InlineData(
        "haproxy",
        "global\nfrontend f\n bind :80\n mode nothing\n default_backend b\nbackend b\n"
            + " server s 127.0.0.1:9000 proto fcgi\n",
        "haproxy -c -f ",
        "unknown proxy mode 'nothing'")]
    [InlineData(
        "lighttpd",
        "server.document-root = \"/tmp\"\nfastcgi.server = (\"/\" => ((\"port\" => 9000))\n",
        "lighttpd -tt -f ",
        "")]
    [InlineData(
        "caddy",
        "http://:8080 {\n\treverse_proxy 127.0.0.1:9000 {\n\t\ttransport nothing\n\t}\n}\n",
        "caddy validate ",
        "transport.nothing")]
    public async Task WebServer_ChecksItsFile(string server, string text, string command, string line)
    {
        Programs.Require(server == "apache" ? "apache2" : server);
        var (code, output, error) = await RunAsync(text, "--server", server, "--timeout", "1");

        Assert.True(code == 1, output + error);
        Assert.Contains($"problem web-server-check  {_folder.GetPath("site.conf")}\n  found   {command}", output);
        Assert.Contains(line, output);
    }

    /// <summary>Debian's apachectl creates a folder that only root can create.</summary>
    [RootFact]
    public Task Apache_ChecksItsFile() => WebServer_ChecksItsFile(
        "apache",
        "ServerRoot /tmp\nLoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\nNothing on\n"
            + "ProxyPass / fcgi://127.0.0.1:9000/\n",
        "apache",
        "Invalid command 'Nothing'");

    [Fact]
    public async Task Caddy_AddressesAreChecked()
    {
        OpenSocket();
        var (_, text, _) = await ToolRun.RunAsync("config", "caddy", "--address", SocketPath);

        var (code, output, error) = await RunAsync(text.Replace(":80", ":8080"));

        Assert.True(code == 0, output + error);
        Assert.Contains($"{_server!.Address}: GET / returns 200", output);
        Assert.EndsWith(": 0 problems, 0 notes\n", output);
    }

    [Fact]
    public async Task WithoutAnArgument_FindsWebServers()
    {
        Programs.Require("nginx");
        var (code, output, _) = await ToolRun.RunAsync("doctor", "--no-connect", "--json");
        JsonElement[] documents =
            [.. output.TrimEnd().Split('\n').Select(static line => JsonDocument.Parse(line).RootElement)];
        Assert.All(documents, static document => Assert.Matches("/etc/", document.GetRawText()));
        // A web server without FastCGI is no failure, but if no other is installed, nothing was checked.
        var hasChecked = documents.Any(static document => document.TryGetProperty("findings", out _));
        Assert.Equal(hasChecked, code != 3);
    }

    [RootFact, UnsupportedOSPlatform("windows")]
    public async Task File_OthersCanChange_IsCheckedOnlyIfTrusted()
    {
        Programs.Require("nginx");
        const string Text = "events {}\nhttp { server { listen 80; location / { " + Params
            + " fastcgi_pass 127.0.0.1:9000; } } }";
        var file = _folder.Write("site.conf", Encoding.UTF8.GetBytes(Text));
        File.SetUnixFileMode(file, File.GetUnixFileMode(file) | UnixFileMode.OtherWrite);

        var (_, untrusted, _) = await ToolRun.RunAsync("doctor", file, "--timeout", "1");
        Assert.Contains($"not checked: nginx did not check {file}", untrusted);
        Assert.DoesNotContain("nginx -t", untrusted);

        var (_, trusted, _) = await ToolRun.RunAsync("doctor", file, "--timeout", "1", "--trust");
        Assert.Contains("nginx -t -q -c ", trusted);
    }

    [Fact]
    public async Task Strict_NotesAreFindings()
        => Assert.Equal(
            1,
            (
                await RunAsync(
                    "server { location /a/ { include fastcgi_params; fastcgi_pass 127.0.0.1:9000; } }",
                    "--no-connect",
                    "--strict")).Code);

    [Fact]
    public async Task Configuration_WithoutFastCgi_IsRefused()
    {
        Assert.Equal(3, (await RunAsync("server { listen 80; }")).Code);
        Assert.Equal(3, (await RunAsync("<VirtualHost *:80>\n</VirtualHost>")).Code);
    }

    private void OpenSocket()
    {
        if (!OperatingSystem.IsWindows())
            File.SetUnixFileMode(SocketPath, (UnixFileMode)0b110_110_110);
    }

    private static string GetConfiguration(string server, string heading)
        => new FrontEndDocument(server).GetConfiguration(heading, "80")
            .Replace("listen 80 ssl", "listen 443 ssl");

    private static string Replace(string text, string documented, string mistaken)
    {
        Assert.Contains(documented, text);
        return text.Replace(documented, mistaken);
    }

    private Task<(int Code, string Output, string Error)> RunAsync(string text, params string[] options)
        => ToolRun.RunAsync(["doctor", _folder.Write("site.conf", Encoding.UTF8.GetBytes(text)), .. options]);
}
