using System.Net.Sockets;
using System.Text;
using System.Text.Json;

namespace FastCgi.Tool.Tests;

/// <summary>The usual mistakes of <c>docs/troubleshooting.md</c>: each is found with its line, and the documented configurations have none.</summary>
public sealed class DoctorCommandTests : IAsyncLifetime, IDisposable
{
    private const string Socket = "/run/hello/app.sock";
    private const string Params = "include fastcgi_params;";

    private readonly ScratchFolder _folder = new();
    private SampleServer? _server;

    private string SocketPath => _server!.Address["fastcgi://unix:".Length..];

    public static TheoryData<string, string> Documented => new()
    {
        { "nginx", FrontEndDocument.Smallest }, { "nginx", FrontEndDocument.Full }, { "nginx", FrontEndDocument.BehindBalancer },
        { "apache", FrontEndDocument.Smallest }, { "apache", FrontEndDocument.Full }, { "apache", FrontEndDocument.BehindBalancer },
        { "lighttpd", FrontEndDocument.Smallest }, { "lighttpd", FrontEndDocument.Full }, { "lighttpd", FrontEndDocument.BehindBalancer },
        { "haproxy", FrontEndDocument.Smallest }, { "haproxy", FrontEndDocument.Full }, { "haproxy", FrontEndDocument.BehindBalancer },
    };

    public async Task InitializeAsync() => _server = await SampleServer.StartAsync();

    public async Task DisposeAsync() => await _server!.DisposeAsync();

    public void Dispose() => _folder.Dispose();

    [Theory, MemberData(nameof(Documented))]
    public async Task Documented_Configuration_HasNoProblem(string server, string heading)
    {
        var text = GetConfiguration(server, heading);
        var (code, output, _) = await RunAsync(text, "--no-connect");

        Assert.True(code == 0, output);
        Assert.Contains(": 0 problems, ", output, StringComparison.Ordinal);
        if (heading == FrontEndDocument.Full)
            Assert.Contains(": 0 problems, 0 notes", output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(FrontEndDocument.Smallest, "        include fastcgi_params;\n", "", "params-missing", "add   include fastcgi_params;", 7)]
    [InlineData(FrontEndDocument.Smallest, Params, "fastcgi_param A b;", "params-missing", "add   include fastcgi_params;", 8)]
    [InlineData(FrontEndDocument.Smallest, Params, "fastcgi_param REQUEST_METHOD GET; fastcgi_param CONTENT_LENGTH 0;", "target-missing", "add   fastcgi_param REQUEST_URI $request_uri;", 8)]
    [InlineData(FrontEndDocument.Smallest, "listen 80;", "listen 8080;", "host-port", "add   fastcgi_param HTTP_HOST $host:$server_port;", 2)]
    [InlineData(FrontEndDocument.Smallest, Params, Params + " fastcgi_pass_request_headers off;", "authorization-dropped", "add   fastcgi_pass_request_headers on;", 6)]
    [InlineData(FrontEndDocument.Smallest, Params, Params + " fastcgi_param HTTP_AUTHORIZATION \"\";", "authorization-dropped", "add   fastcgi_param HTTP_AUTHORIZATION $http_authorization;", 6)]
    [InlineData(FrontEndDocument.Smallest, Params, Params + " fastcgi_ignore_headers X-Accel-Buffering;", "streaming-held", "add   fastcgi_buffering off;", 6)]
    [InlineData(FrontEndDocument.Smallest, Params, "fastcgi_param REQUEST_METHOD GET; fastcgi_param REQUEST_URI $request_uri; fastcgi_param CONTENT_LENGTH 0; fastcgi_param HTTP_HOST \"\";", "host-missing", "add   fastcgi_param HTTP_HOST $host:$server_port;", 6)]
    [InlineData(FrontEndDocument.Smallest, Params, Params + " fastcgi_param AUTH_TYPE Basic;", "user-unverified", "add   auth_basic \"Members\";", 6)]
    [InlineData(FrontEndDocument.Full, "    fastcgi_keep_conn on;\n", "", "keep-conn-missing", "add   fastcgi_keep_conn on;", 3)]
    [InlineData(FrontEndDocument.Full, "PATH_BASE /app", "PATH_BASE /api", "path-base", "add   fastcgi_param PATH_BASE /app;", 37)]
    [InlineData(FrontEndDocument.BehindBalancer, "        fastcgi_param HTTPS $forwarded_https if_not_empty;\n", "", "scheme-behind-balancer", "add   fastcgi_param HTTPS $forwarded_https if_not_empty;", 24)]
    public async Task Nginx_Mistake_IsFound(string heading, string documented, string mistaken, string id, string line, int number)
    {
        var (code, output, _) = await RunAsync(Replace(GetConfiguration("nginx", heading), documented, mistaken), "--no-connect");

        Assert.Equal(1, code);
        Assert.Contains($"problem {id}  {_folder.GetPath("site.conf")}:{number}\n", output, StringComparison.Ordinal);
        Assert.Contains(line, output, StringComparison.Ordinal);
        Assert.Contains(": 1 problems, ", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Nginx_ParameterOfAnInnerBlock_SwitchesOffTheOthers()
    {
        var text = "server {\n  listen 443 ssl;\n  include fastcgi_params;\n  location / {\n    fastcgi_param A \"x;{y}\";\n    fastcgi_pass unix:/run/hello/app.sock;\n  }\n}\n";

        var (_, output, _) = await RunAsync(text, "--no-connect");

        Assert.Contains("seen  the fastcgi_param of line 5 switches off all those that stand above it (", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Nginx_TlsWithoutScheme_IsFound()
    {
        const string Text = "server { listen 443 ssl; location / { fastcgi_param REQUEST_METHOD $request_method; fastcgi_param REQUEST_URI ${request_uri}; fastcgi_param CONTENT_LENGTH $content_length; fastcgi_pass unix:/run/hello/app.sock; } }";

        Assert.Contains("problem scheme-missing  ", (await RunAsync(Text, "--no-connect")).Output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("head-buffer", "add   fastcgi_buffer_size 16k;\n        fastcgi_buffers 8 16k;")]
    [InlineData("body-size", "add   client_max_body_size 30m;")]
    public async Task Nginx_Default_IsANote(string id, string line)
    {
        var text = GetConfiguration("nginx", FrontEndDocument.Smallest);
        var (_, output, _) = await RunAsync(text, "--no-connect");

        Assert.Contains($"note {id}  ", output, StringComparison.Ordinal);
        Assert.Contains(line, output, StringComparison.Ordinal);
        Assert.Equal(1, (await RunAsync(text, "--no-connect", "--strict")).Code);
    }

    [Fact]
    public async Task Nginx_WholeConfiguration_IsReadWithItsFiles()
    {
        var text = "nginx: the configuration file /x/nginx.conf syntax is ok\n# configuration file /x/nginx.conf:\nhttp {\n  include /x/sites/*;\n}\n"
            + "# configuration file /x/sites/a:\nserver {\n  listen 80;\n  location / { fastcgi_pass unix:/run/hello/app.sock; }\n}\n";

        Assert.Contains("problem params-missing  /x/sites/a:3\n", (await RunAsync(text, "--no-connect")).Output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(FrontEndDocument.Smallest, "        CGIPassAuth On\n", "", "authorization-dropped", "CGIPassAuth On")]
    [InlineData(FrontEndDocument.Smallest, " flushpackets=on", "", "streaming-held", "add   flushpackets=on")]
    [InlineData(FrontEndDocument.Full, "        ProxyFCGIBackendType GENERIC\n", "", "nocanon", "ProxyFCGIBackendType GENERIC")]
    [InlineData(FrontEndDocument.Full, " nocanon ", " ", "nocanon", "add   nocanon")]
    [InlineData(FrontEndDocument.Full, "SetEnv PATH_BASE /app", "SetEnv PATH_BASE /api", "path-base", "add   SetEnv PATH_BASE /app")]
    [InlineData(FrontEndDocument.BehindBalancer, "    SetEnvIfExpr", "    # SetEnvIfExpr", "scheme-behind-balancer", "HTTPS=on")]
    [InlineData(FrontEndDocument.Smallest, "<VirtualHost *:80>", "LoadModule proxy_module mod_proxy.so\n<VirtualHost *:80>", "module-missing", "add   a2enmod proxy_fcgi")]
    public async Task Apache_Mistake_IsFound(string heading, string documented, string mistaken, string id, string line)
    {
        var (code, output, _) = await RunAsync(Replace(GetConfiguration("apache", heading), documented, mistaken), "--no-connect");

        Assert.Equal(1, code);
        Assert.Contains($"problem {id}  {_folder.GetPath("site.conf")}:", output, StringComparison.Ordinal);
        Assert.Contains(line, output, StringComparison.Ordinal);
        Assert.Contains(": 1 problems, ", output, StringComparison.Ordinal);
    }

    [UnixFact]
    public async Task Socket_ThatIsNotThere_IsFoundInAConfiguration()
    {
        foreach (var server in new[] { "nginx", "apache" })
        {
            var (code, output, _) = await RunAsync(Replace(GetConfiguration(server, FrontEndDocument.Smallest), Socket, "/nonexistent/app.sock"));

            Assert.Equal(1, code);
            Assert.Contains("problem no-socket  /nonexistent/app.sock\n", output, StringComparison.Ordinal);
            Assert.Contains("add   --urls fastcgi://unix:/nonexistent/app.sock\n", output, StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData("nginx", "fastcgi_pass unix:/run/hello/app.sock;", "proxy_pass http://unix:/run/hello/app.sock:;", "        fastcgi_pass unix:")]
    [InlineData("apache", "|fcgi://hello/", "|http://hello/", "|fcgi://hello/\" flushpackets=on")]
    public async Task Http_ToTheSocket_IsFound(string server, string documented, string mistaken, string line)
    {
        _server!.Logs.Expected.Add("WrongProtocol");
        var text = Replace(GetConfiguration(server, FrontEndDocument.Smallest), documented, mistaken).Replace(Socket, SocketPath, StringComparison.Ordinal);

        var (code, output, _) = await RunAsync(text);

        Assert.Equal(1, code);
        Assert.Contains("problem http-to-fastcgi  ", output, StringComparison.Ordinal);
        Assert.Contains(line, output, StringComparison.Ordinal);
    }

    [UnixFact]
    public async Task Socket_WhoMayConnect_IsSeen()
    {
        if (!OperatingSystem.IsWindows())
            File.SetUnixFileMode(SocketPath, UnixFileMode.UserRead | UnixFileMode.UserWrite);
        var (_, output, _) = await ToolRun.RunAsync("doctor", _server!.Address);

        Assert.Contains($"{SocketPath}: mode 0600, ", output, StringComparison.Ordinal);
        Assert.Contains($"{_server.Address}: GET / is answered with 200 in ", output, StringComparison.Ordinal);
        Assert.Contains("GET_VALUES FCGI_MAX_CONNS=", output, StringComparison.Ordinal);
        string[] webServers = ["www-data:", "nginx:", "caddy:", "haproxy:", "lighttpd:", "http:", "apache:"];
        var isOneThere = File.ReadLines("/etc/passwd").Any(line => webServers.Any(user => line.StartsWith(user, StringComparison.Ordinal)));
        Assert.Contains(isOneThere ? "problem permission  " : "no user of a web server", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Nobody_Listens_IsAProblem()
    {
        using var port = new PortReservation();
        var (code, output, _) = await ToolRun.RunAsync("doctor", $"127.0.0.1:{port.EndPoint.Port}");

        Assert.Equal(1, code);
        Assert.Contains("problem nobody-listens  fastcgi://127.0.0.1:", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Http_AtTheAddress_IsSeen()
    {
        using var listener = new TcpListener(System.Net.IPAddress.Loopback, 0);
        listener.Start();
        var serving = ServeAsync(listener, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"u8.ToArray());

        var (code, output, _) = await ToolRun.RunAsync("doctor", $"127.0.0.1:{((System.Net.IPEndPoint)listener.LocalEndpoint).Port}");

        Assert.Equal(1, code);
        Assert.Contains("problem speaks-http  ", output, StringComparison.Ordinal);
        listener.Stop();
        await serving;
    }

    [Fact]
    public async Task Head_BeyondTheBuffer_IsAProblem()
    {
        var text = GetConfiguration("nginx", FrontEndDocument.Smallest).Replace(Socket, SocketPath, StringComparison.Ordinal);

        var (code, output, _) = await RunAsync(text, "--path", "/large");

        Assert.Equal(1, code);
        Assert.Matches(@"problem head-buffer  fastcgi://unix:.*\n  seen  the response headers of /large have 5\d\d\d bytes", output);
    }

    [Fact]
    public async Task Json_HasTheFindings()
    {
        var (_, output, _) = await RunAsync(Replace(GetConfiguration("nginx", FrontEndDocument.Smallest), Params, ""), "--no-connect", "--json");
        var document = JsonDocument.Parse(output).RootElement;

        Assert.Equal(1, document.GetProperty("problems").GetInt32());
        var finding = document.GetProperty("findings").EnumerateArray().First();
        Assert.Equal(("params-missing", "include fastcgi_params;", "docs/troubleshooting.md#400-bad-request"), (finding.GetProperty("id").GetString(), finding.GetProperty("line").GetString(), finding.GetProperty("document").GetString()));
    }

    [Fact]
    public async Task Configuration_WithoutFastCgi_CannotBeLookedAt()
    {
        Assert.Equal(3, (await RunAsync("server { listen 80; }")).Code);
        Assert.Equal(3, (await RunAsync("<VirtualHost *:80>\n</VirtualHost>")).Code);
    }

    private static string GetConfiguration(string server, string heading)
        => new FrontEndDocument(server).GetConfiguration(heading, "80").Replace("listen 80 ssl", "listen 443 ssl", StringComparison.Ordinal);

    private static string Replace(string text, string documented, string mistaken)
    {
        Assert.Contains(documented, text, StringComparison.Ordinal);
        return text.Replace(documented, mistaken, StringComparison.Ordinal);
    }

    /// <summary>Answers every connection with the same bytes.</summary>
    private static async Task ServeAsync(TcpListener listener, byte[] answer)
    {
        var buffer = new byte[4096];
        while (true)
        {
            try
            {
                using var socket = await listener.AcceptSocketAsync();
                if (await socket.ReceiveAsync(buffer) > 0)
                    await socket.SendAsync(answer);
            }
            catch (SocketException)
            {
                return;
            }
            catch (ObjectDisposedException)
            {
                return;
            }
        }
    }

    private Task<(int Code, string Output, string Error)> RunAsync(string text, params string[] options)
        => ToolRun.RunAsync(["doctor", _folder.Write("site.conf", Encoding.UTF8.GetBytes(text)), .. options]);
}
