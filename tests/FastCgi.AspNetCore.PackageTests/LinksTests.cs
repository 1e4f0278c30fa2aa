using System.Net;
using System.Net.Sockets;

namespace FastCgi.AspNetCore.PackageTests;

/// <summary><c>build/links.sh</c>, with a test server in place of the internet.</summary>
public sealed class LinksTests
{
    [Fact]
    public async Task Links_BrokenAndGood_OnlyTheBrokenAreReported()
    {
        Programs.Require("curl");
        using var folder = new ScratchFolder();
        using var server = new TcpListener(IPAddress.Loopback, 0);
        server.Start();
        var answering = AnswerAsync(server);
        var list = Path.Combine(folder.Path, "links");
        string[] links =
        [
            $"http://{server.LocalEndpoint}/200", $"http://{server.LocalEndpoint}/403",
            $"http://{server.LocalEndpoint}/404",
        ];

        await File.WriteAllLinesAsync(list, links[..2]);
        var (exitCode, output) = await DotnetCommand.TryRunProgramAsync(Repository.Root, "build/links.sh", list);
        Assert.Equal((0, $"unclear (403): {links[1]}\n2 links, 0 broken, 1 unclear\n"), (exitCode, output));

        await File.WriteAllLinesAsync(list, links);
        (exitCode, output) = await DotnetCommand.TryRunProgramAsync(Repository.Root, "build/links.sh", list);
        Assert.Equal(
            (1, $"unclear (403): {links[1]}\nbroken (404): {links[2]}\n3 links, 1 broken, 1 unclear\n"),
            (exitCode, output));

        server.Stop();
        await Assert.ThrowsAnyAsync<Exception>(() => answering);
    }

    /// <summary>The path of a request sets the status of its response.</summary>
    private static async Task AnswerAsync(TcpListener server)
    {
        while (true)
        {
            using var client = await server.AcceptTcpClientAsync();
            using var reader = new StreamReader(client.GetStream());
            var status = (await reader.ReadLineAsync())!.Split(' ')[1][1..];
            while (await reader.ReadLineAsync() is { Length: > 0 })
            {
            }

            await client.GetStream().WriteAsync(
                System.Text.Encoding.ASCII.GetBytes(
                    $"HTTP/1.1 {status} Answer\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
        }
    }
}
