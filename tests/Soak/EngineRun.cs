using System.Globalization;
using System.Net;
using System.Net.Sockets;
using FastCgi.AspNetCore.Testing.FrontEnds;

namespace FastCgi.AspNetCore.Soak;

internal sealed record EngineResult(
    string Engine, Progress Progress, Figures Before, Figures After, string ServerOutput);

/// <summary>The server's resources when it is idle, after a garbage collection.</summary>
internal sealed record Figures(
    double HeapMiB, int RentedBuffers, double BufferMiB, int Connections, double ResidentMiB, int Descriptors)
{
    /// <summary>
    /// Whether the server is idle except for this query: nginx keeps connections open, and on one engine each has a
    /// buffer.
    /// </summary>
    public bool IsIdle => Connections <= 1 + NginxLane.KeptConnections && RentedBuffers <= Connections + 1;
}

/// <summary>Loads a server process that uses one of the engines.</summary>
internal static class EngineRun
{
    private const long WarmUpRequests = 20_000;
    private const double MiB = 1024 * 1024;

    public static async Task<EngineResult> RunAsync(string engine, long requests, TimeSpan? time, bool usesNginx)
    {
        using var folder = new ScratchFolder();
        using var port = new PortReservation();
        var tcp = port.EndPoint;
        var unix = folder.GetPath("app.sock");
        await using var server = ServerProcess.Start(
            Environment.ProcessPath!,
            ["serve", engine, $"fastcgi://{tcp}", $"fastcgi://unix:{unix}?mode=0666"],
            folder.Path);
        await Waiting.UntilAsync(
            async () => !await FastCgiClient.IsRefusedAsync(tcp),
            () => server.HasExited ? server.Output : null,
            "the server");
        var process = (int)(await AskAsync(tcp, "/process"))[0];
        await using var nginx = usesNginx
            ? await FrontEnd.StartAsync(
                new FrontEndSetup { Kind = FrontEndKind.Nginx, KeepsConnections = true }, folder.Path, tcp, more: "")
            : null;
        await DriveAsync(new Progress(Math.Min(WarmUpRequests, requests / 10), time / 5), tcp, unix, nginx?.EndPoint);
        var before = await ReadFiguresAsync(tcp, process);
        var progress = new Progress(requests, time);
        await DriveAsync(progress, tcp, unix, nginx?.EndPoint);
        progress.End();
        var after = await ReadFiguresAsync(tcp, process);
        return new EngineResult(engine, progress, before, after, server.Output);
    }

    private static Task DriveAsync(Progress progress, IPEndPoint tcp, string unix, IPEndPoint? nginx)
    {
        var socket = new UnixDomainSocketEndPoint(unix);
        List<Task> lanes =
        [
            Task.Run(new DirectLane(tcp, progress, 1, keepsConnection: true).RunAsync),
            Task.Run(new DirectLane(tcp, progress, 2, keepsConnection: false).RunAsync),
            Task.Run(new DirectLane(socket, progress, 3, keepsConnection: true).RunAsync),
            Task.Run(new DirectLane(socket, progress, 4, keepsConnection: true).RunAsync),
            Task.Run(new DirectLane(socket, progress, 5, keepsConnection: false).RunAsync),
        ];
        if (nginx is not null)
        {
            lanes.Add(Task.Run(new NginxLane(nginx, progress, 6).RunAsync));
            lanes.Add(Task.Run(new NginxLane(nginx, progress, 7).RunAsync));
        }

        return Task.WhenAll(lanes);
    }

    /// <summary>
    /// Waits, for a limited time, until aborted requests and closed connections have been cleaned up.
    /// </summary>
    private static async Task<Figures> ReadFiguresAsync(IPEndPoint tcp, int process)
    {
        Figures figures;
        var tries = 0;
        do
        {
            await Task.Delay(TimeSpan.FromMilliseconds(250));
            var values = await AskAsync(tcp, "/figures");
            var (resident, descriptors) = ReadProcess(process);
            figures = new Figures(
                values[0] / MiB, (int)values[1], values[2] / MiB, (int)values[3], resident, descriptors);
        }
        while (!figures.IsIdle && ++tries < 40);

        return figures;
    }

    private static async Task<long[]> AskAsync(IPEndPoint tcp, string uri)
        => [.. (await FastCgiClient.GetAsync(tcp, uri)).Split(' ').Select(static value => long.Parse(
            value, CultureInfo.InvariantCulture))];

    private static (double ResidentMiB, int Descriptors) ReadProcess(int process)
    {
        var pages = File.ReadAllText($"/proc/{process}/statm").Split(' ')[1];
        return (
            long.Parse(pages, CultureInfo.InvariantCulture) * Environment.SystemPageSize / MiB,
            Directory.GetFiles($"/proc/{process}/fd").Length);
    }
}
