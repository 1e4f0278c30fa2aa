using System.Net.Security;

namespace FastCgi.Tool.Tests;

/// <summary>
/// The doctor's findings for an address: each fault is created and reported with its fix, which removes it.
/// </summary>
public sealed class DoctorAddressTests : IAsyncLifetime, IDisposable
{
    private readonly ScratchFolder _folder = new();
    private SampleServer? _server;

    public async Task InitializeAsync() => _server = await SampleServer.StartAsync();

    public async Task DisposeAsync() => await _server!.DisposeAsync();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Tls_AtTheAddress_IsReported()
    {
        using var certificates = new Certificates();
        using var certificate = certificates.CreateServer();
        await using var server = new FakeServer(async stream =>
        {
            await using var tls = new SslStream(stream);
            await tls.AuthenticateAsServerAsync(certificate);
        });

        await AssertProblemAsync("not-fastcgi", $"fix     --urls {server.Address}\n", server.Address);
    }

    [Fact]
    public async Task Http_AtTheAddress_IsReported()
    {
        await using var server = FakeServer.Answering(
            "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"u8.ToArray());

        await AssertProblemAsync("not-fastcgi", $"fix     --urls {server.Address}\n", server.Address);
    }

    [Fact]
    public async Task Address_NothingListens_IsReported()
    {
        using var port = new PortReservation();
        var address = $"fastcgi://127.0.0.1:{port.EndPoint.Port}";

        await AssertProblemAsync("nobody-listens", $"fix     --urls {address}\n", address);
    }

    /// <summary>An octal number, or fewer than four: nothing is sent to an address that is only a guess.</summary>
    [Theory]
    [InlineData("010.0.0.1", "8.0.0.1")]
    [InlineData("01.2.3.4", "1.2.3.4")]
    [InlineData("127.1", "127.0.0.1")]
    [InlineData("0x7f.0.0.1", "127.0.0.1")]
    public async Task Address_ProgramsReadDifferently_IsReported(string host, string other)
    {
        var configuration = _folder.Write("site.conf", Encoding.UTF8.GetBytes(
            $"server {{ location / {{ include fastcgi_params; fastcgi_pass {host}:9000; }} }}"));

        await AssertProblemAsync("ambiguous", $"  found   it can be read as {other}\n", $"fastcgi://{host}:9000");
        await AssertProblemAsync("ambiguous", $"  found   it can be read as {other}\n", configuration);
    }

    [Fact]
    public async Task Response_Missing_IsReported()
    {
        await using var server = new FakeServer(static stream => stream.CopyToAsync(Stream.Null));

        await AssertProblemAsync(
            "no-answer", "fix     dotnet-stack report -p PID\n", server.Address, "--timeout", "0.3");
    }

    [Fact]
    public async Task Response_WithoutHeaders_IsReported()
    {
        await using var server = FakeServer.Answering(RecordBytes.Record(RecordBytes.EndRequest, 1, new byte[8]));

        await AssertProblemAsync(
            "no-answer", "fix     fastcgi request ADDRESS / -v\n", server.Address, "--timeout", "1");
    }

    [Fact]
    public async Task Response_Error_IsReported()
        => await AssertProblemAsync(
            "error-status",
            "fix     --Logging:LogLevel:FastCgi.AspNetCore Debug\n",
            _server!.Address,
            "--path",
            "/error");

    [Fact]
    public async Task Php_AtTheAddress_IsReported()
    {
        var answer = ("Status: 404 Not Found\r\nX-Powered-By: PHP/8.2\r\n"u8
            + "Content-type: text/html; charset=UTF-8\r\n\r\nFile not found.\n"u8).ToArray();
        await using var server = FakeServer.Answering([
            .. RecordBytes.Record(RecordBytes.Stderr, 1, "Primary script unknown\n"u8),
            .. RecordBytes.Record(RecordBytes.Stdout, 1, answer),
            .. RecordBytes.Record(RecordBytes.EndRequest, 1, new byte[8])]);

        var (_, output, _) = await ToolRun.RunAsync("doctor", server.Address, "--timeout", "1");

        Assert.Contains("note php-fpm  ", output);
        Assert.Contains("fix     --urls fastcgi://127.0.0.1:9001\n", output);
        await AssertIsWellAsync("php-fpm", _server!.Address);
    }

    [LinuxFact]
    public async Task Queue_Full_IsReported()
    {
        var path = _folder.GetPath("full.sock");
        using var listener = TestSockets.ListenUnix(path, backlog: 0);
        OpenToAll(path);
        using var waiting = TestSockets.Connect(listener);

        await AssertProblemAsync("backlog-full", "fix     sysctl -w net.core.somaxconn=4096\n", path);
    }

    /// <summary>The application still responds, and most of its queue is full when its process is checked.</summary>
    [LinuxTheory]
    [InlineData(10, true)]
    [InlineData(4, false)]
    public async Task Queue_NearlyFull_IsReported(int count, bool isSeen)
    {
        Programs.Require("ss");
        var path = _folder.GetPath("near.sock");
        var waiting = new List<Socket>();
        await using var server = new FakeServer(
            async stream =>
            {
                // The probe of the protocol, the request, and GET_VALUES, which is answered once the queue has its
                // length.
                var kind = new byte[8];
                if (await stream.ReadAtLeastAsync(kind, kind.Length, throwOnEndOfStream: false) < kind.Length)
                    return false;
                if (kind[1] == RecordBytes.BeginRequest)
                {
                    await stream.WriteAsync((byte[])[
                        .. RecordBytes.Record(RecordBytes.Stdout, 1, "Status: 200 OK\r\n\r\n"u8),
                        .. RecordBytes.Record(RecordBytes.EndRequest, 1, new byte[8])]);
                    return false;
                }

                for (var i = 0; i < count; i++)
                    waiting.Add(TestSockets.Connect(new UnixDomainSocketEndPoint(path)));
                return true;
            },
            path);
        OpenToAll(path);

        var (code, output, _) = await ToolRun.RunAsync("doctor", path, "--timeout", "10");
        waiting.ForEach(static socket => socket.Dispose());

        Assert.Equal(isSeen, output.Contains("problem backlog-full  "));
        Assert.True(output.Contains($"{count} of 10 connections wait"), output);
        Assert.Equal(isSeen ? 1 : 0, code);
    }

    /// <summary>The doctor warns from 320 of 400 on. From 334 on, the server accepts no more connections.</summary>
    [LinuxTheory]
    [InlineData("ulimit -n 400;", 0, false)]
    [InlineData("ulimit -n 400;", 326, true)]
    [InlineData("", 326, false)]
    public async Task Descriptors_Few_AreReported(string prefix, int descriptors, bool isSeen)
    {
        Programs.Require("ss");
        var path = _folder.GetPath("relay.sock");
        await using var process = await ApplicationProcess.StartAsync(path, prefix);
        // From the first request on, their number depends only on the connections.
        await ToolRun.RunAsync("doctor", path, "--timeout", "20");
        var missing = descriptors - await FindDescriptorsAsync(path);
        var open = new List<Socket>();
        while (open.Count < missing)
            open.Add(TestSockets.Connect(new UnixDomainSocketEndPoint(path)));
        await Waiting.UntilAsync(
            async () => await FindDescriptorsAsync(path) > descriptors - 4,
            () => process.HasExited ? process.Output : null,
            "the connections");

        var (_, output, _) = await ToolRun.RunAsync("doctor", path, "--timeout", "20");
        open.ForEach(static socket => socket.Dispose());

        var isFound = Regex.IsMatch(output, "problem descriptors  .*\n.*\n.*\n  fix     LimitNOFILE=65536\n");
        Assert.True(isFound == isSeen, output);
    }

    private static void OpenToAll(string path)
    {
        if (!OperatingSystem.IsWindows())
            File.SetUnixFileMode(path, (UnixFileMode)0b110_110_110);
    }

    private static async Task<int> FindDescriptorsAsync(string path)
    {
        using var process = Process.Start(
            new ProcessStartInfo(
                "sh",
                ["-c", $"ls /proc/$(ss -Hxlnp | grep -F {path} | sed 's/.*pid=\\([0-9]*\\).*/\\1/')/fd | wc -l"])
            {
                RedirectStandardOutput = true,
            })!;
        return int.Parse(await process.StandardOutput.ReadToEndAsync());
    }

    /// <summary>
    /// The problem is reported with its line; the test server, which has no problem, does not have it.
    /// </summary>
    private async Task AssertProblemAsync(string id, string line, params string[] arguments)
    {
        var (code, output, _) = await ToolRun.RunAsync(["doctor", .. arguments]);

        Assert.True(output.Contains($"problem {id}  "), output);
        Assert.Contains(line, output);
        Assert.Equal(1, code);
        await AssertIsWellAsync(id, _server!.Address);
    }

    private static async Task AssertIsWellAsync(string id, string address)
    {
        if (address.StartsWith("fastcgi://unix:", StringComparison.Ordinal))
            OpenToAll(address["fastcgi://unix:".Length..]);
        var (code, output, _) = await ToolRun.RunAsync("doctor", address);

        Assert.True(code == 0, output);
        Assert.DoesNotContain($" {id}  ", output);
    }
}
