using System.Globalization;

namespace FastCgi.Tool.Tests;

/// <summary>The commands of <c>docs/tool.md</c> run as written, except for their ports.</summary>
public sealed class ToolDocumentTests : IAsyncLifetime, IDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly PortReservation _port = new();
    private SampleServer? _server;

    public async Task InitializeAsync()
    {
        _server = await SampleServer.StartAsync("Hello World!", usesUnixSocket: false);
        var command = _folder.Write("fastcgi", System.Text.Encoding.UTF8.GetBytes(
            $"#!/bin/sh\nexec dotnet '{Path.Combine(AppContext.BaseDirectory, "FastCgi.Tool.dll")}' \"$@\"\n"));
        if (!OperatingSystem.IsWindows())
            File.SetUnixFileMode(command, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
    }

    public async Task DisposeAsync() => await _server!.DisposeAsync();

    public void Dispose()
    {
        _port.Dispose();
        _folder.Dispose();
    }

    [Theory]
    [InlineData("tool request", "Status: 200 OK\n", "Hello World!")]
    [InlineData(
        "tool request in full",
        "* HTTP_COOKIE=***\n",
        "  BEGIN_REQUEST     id 1  8 bytes\n",
        "Hello World!",
        "* RequestComplete, appStatus 0, ")]
    [InlineData(
        "tool check",
        "pass     padding             Padding is skipped, even 255 bytes after empty records [3.3]\n",
        ": 48 passed, 0 failed, 1 skipped\n")]
    [InlineData("tool proxy", "Listening on http://localhost:", "Hello World!", "200 GET /  12 bytes  ", "Stopped.\n")]
    [InlineData("tool doctor", "GET / returns 200 in ", ": 0 problems, ")]
    [InlineData(
        "tool doctor of a configuration",
        "problem params-missing  hello.conf:8\n",
        "  fix     include fastcgi_params;\n",
        "hello.conf: 1 problem, 0 notes\nexit code 1\n")]
    [InlineData("tool config", "    server_name shop.example.com;\n", "        fastcgi_pass 127.0.0.1:")]
    [InlineData("tool top", "requests     1 active, 0 queued, ", "GET /fastcgi-status")]
    public async Task Block_OfTheDocument_WritesWhatItSays(string name, params string[] texts)
    {
        var port = _port.EndPoint.Port.ToString(CultureInfo.InvariantCulture);
        var block = (await DocumentBlock.ReadAsync("tool.md", name))
            .Replace("127.0.0.1:9000", _server!.Address["fastcgi://".Length..])
            .Replace("127.0.0.1:9001", $"127.0.0.1:{port}")
            .Replace("localhost:8080", $"localhost:{port}");
        if (block.Contains("curl "))
            Programs.Require("curl");
        _server.Logs.Expected.Add("ApplicationError");
        await using var process = ServerProcess.Start(
            "bash", ["-ec", $"PATH={_folder.Path}:$PATH\n{block}"], _folder.Path);

        var code = await process.WaitForExitAsync(Waiting.Patience);
        Assert.True(code == 0, $"{code}: {process.Output}");
        foreach (var text in texts)
            Assert.Contains(text, process.Output);
    }
}
