using System.Net.Sockets;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>HTTP spoken to the FastCGI port, which is everybody's first mistake.</summary>
public sealed class WrongProtocolTests
{
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Http_ToTheFastCgiPort_IsAnsweredWithWhatToDo(bool usesUnixSocket)
    {
        using var folder = new ScratchFolder();
        await using var application = await TestApplication.StartAsync(
            folder.GetAddress(usesUnixSocket), app => app.MapGet("/", () => "not reached"));

        string[] target = application.EndPoint is UnixDomainSocketEndPoint socket
            ? ["--unix-socket", socket.ToString(), "http://localhost/"]
            : [$"http://{application.EndPoint}/"];
        var (exitCode, answer) = await ExternalProgram.RunAsync("curl", ["-sS", "-i", .. target]);

        Assert.Equal(0, exitCode);
        Assert.StartsWith("HTTP/1.1 400 Bad Request\r\n", answer, StringComparison.Ordinal);
        Assert.EndsWith("Point a web server at it with fastcgi_pass, mod_proxy_fcgi or alike.\n", answer, StringComparison.Ordinal);
        Assert.Single(application.Log.Find(LogLevel.Warning, "WrongProtocol"));
        application.Log.Verify();
    }
}
