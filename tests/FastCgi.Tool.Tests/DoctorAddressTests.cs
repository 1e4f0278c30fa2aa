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
        await using var server = new FakeServer(static async stream =>
        {
            if (await stream.ReadAsync(new byte[1_000]) > 0)
                await stream.WriteAsync("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"u8.ToArray());
        });

        await AssertProblemAsync("not-fastcgi", $"fix     --urls {server.Address}\n", server.Address);
    }

    [Fact]
    public async Task Address_NothingListens_IsReported()
    {
        using var port = new PortReservation();
        var address = $"fastcgi://127.0.0.1:{port.EndPoint.Port}";

        await AssertProblemAsync("nobody-listens", $"fix     --urls {address}\n", address);
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
        await using var server = new FakeServer(static async stream =>
        {
            if (await stream.ReadAsync(new byte[1_000]) > 0)
                await stream.WriteAsync(RecordBytes.Record(RecordBytes.EndRequest, 1, new byte[8]));
        });

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
        await using var server = new FakeServer(async stream =>
        {
            if (await stream.ReadAsync(new byte[1_000]) > 0)
                await stream.WriteAsync((byte[])[
                    .. RecordBytes.Record(RecordBytes.Stderr, 1, "Primary script unknown\n"u8),
                    .. RecordBytes.Record(RecordBytes.Stdout, 1, answer),
                    .. RecordBytes.Record(RecordBytes.EndRequest, 1, new byte[8])]);
        });

        var (_, output, _) = await ToolRun.RunAsync("doctor", server.Address, "--timeout", "1");

        Assert.Contains("note php-fpm  ", output, StringComparison.Ordinal);
        Assert.Contains("fix     --urls fastcgi://127.0.0.1:9001\n", output, StringComparison.Ordinal);
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

    private static void OpenToAll(string path)
    {
        if (!OperatingSystem.IsWindows())
            File.SetUnixFileMode(path, (UnixFileMode)0b110_110_110);
    }

    /// <summary>
    /// The problem is reported with its line; the test server, which has no problem, does not have it.
    /// </summary>
    private async Task AssertProblemAsync(string id, string line, params string[] arguments)
    {
        var (code, output, _) = await ToolRun.RunAsync(["doctor", .. arguments]);

        Assert.True(output.Contains($"problem {id}  ", StringComparison.Ordinal), output);
        Assert.Contains(line, output, StringComparison.Ordinal);
        Assert.Equal(1, code);
        await AssertIsWellAsync(id, _server!.Address);
    }

    private static async Task AssertIsWellAsync(string id, string address)
    {
        if (address.StartsWith("fastcgi://unix:", StringComparison.Ordinal))
            OpenToAll(address["fastcgi://unix:".Length..]);
        var (code, output, _) = await ToolRun.RunAsync("doctor", address);

        Assert.True(code == 0, output);
        Assert.DoesNotContain($" {id}  ", output, StringComparison.Ordinal);
    }
}
