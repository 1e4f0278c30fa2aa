using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace FastCgi.AspNetCore.Soak;

/// <summary>What the server process uses at one moment.</summary>
internal sealed record Sample(double Seconds, double Rate, double HeapMiB, double ResidentMiB, int Descriptors);

/// <summary>What was found of one engine.</summary>
internal sealed record EngineResult(string Engine, Progress Progress, IReadOnlyList<Sample> Samples, Figures Before, Figures After, string ServerOutput);

/// <summary>What the server has when nothing is under way and the garbage is collected.</summary>
internal sealed record Figures(double HeapMiB, int RentedBuffers, double BufferMiB, int Connections, double ResidentMiB, int Descriptors)
{
    /// <summary>Whether no more is under way than this look: connections that nginx keeps, with a buffer each on the engine that has one for each.</summary>
    public bool IsIdle => Connections <= 1 + NginxLane.KeptConnections && RentedBuffers <= Connections + 1;
}

/// <summary>Drives a server process with one of the engines.</summary>
internal static class EngineRun
{
    private const long WarmUpRequests = 20_000;
    private const double MiB = 1024 * 1024;

    private static readonly TimeSpan s_sampleInterval = TimeSpan.FromSeconds(2);

    public static async Task<EngineResult> RunAsync(string engine, long requests, TimeSpan? time, bool usesNginx)
    {
        using var folder = new ScratchFolder();
        using var port = new PortReservation();
        var tcp = port.EndPoint;
        var unix = folder.GetPath("app.sock");
        await using var server = ServerProcess.Start(
            Environment.ProcessPath!, ["serve", engine, $"fastcgi://{tcp}", $"fastcgi://unix:{unix}?mode=0666"], folder.Path);
        await Waiting.UntilAsync(() => AcceptsAsync(tcp), () => server.HasExited ? server.Output : null, "the server");
        var process = (int)(await AskAsync(tcp, "/process"))[0];
        await using var nginx = usesNginx ? await NginxLane.StartAsync(folder, $"{tcp}") : null;
        await DriveAsync(new Progress(Math.Min(WarmUpRequests, requests / 10), time / 5), tcp, unix, nginx?.EndPoint);
        var before = await ReadFiguresAsync(tcp, process);
        var progress = new Progress(requests, time);
        var samples = new List<Sample>();
        var driving = DriveAsync(progress, tcp, unix, nginx?.EndPoint);
        await SampleAsync(progress, samples, driving, tcp, process);
        await driving;
        progress.End();
        var after = await ReadFiguresAsync(tcp, process);
        return new EngineResult(engine, progress, samples, before, after, server.Output);
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

    private static async Task SampleAsync(Progress progress, List<Sample> samples, Task driving, IPEndPoint tcp, int process)
    {
        var (seen, seenAt) = (0L, progress.Elapsed);
        while (await Task.WhenAny(driving, Task.Delay(s_sampleInterval)) != driving)
        {
            var (total, at) = (progress.Total, progress.Elapsed);
            var (resident, descriptors) = ReadProcess(process);
            var heap = (await AskAsync(tcp, "/heap"))[0] / MiB;
            samples.Add(new Sample(at.TotalSeconds, (total - seen) / (at - seenAt).TotalSeconds, heap, resident, descriptors));
            (seen, seenAt) = (total, at);
        }
    }

    /// <summary>Waits until what is left of aborted requests and closed connections is gone, within bounds.</summary>
    private static async Task<Figures> ReadFiguresAsync(IPEndPoint tcp, int process)
    {
        Figures figures;
        var tries = 0;
        do
        {
            await Task.Delay(TimeSpan.FromMilliseconds(250));
            var values = await AskAsync(tcp, "/figures");
            var (resident, descriptors) = ReadProcess(process);
            figures = new Figures(values[0] / MiB, (int)values[1], values[2] / MiB, (int)values[3], resident, descriptors);
        }
        while (!figures.IsIdle && ++tries < 40);

        return figures;
    }

    private static async Task<long[]> AskAsync(IPEndPoint tcp, string uri)
    {
        using var connection = await SoakConnection.ConnectAsync(tcp);
        await connection.SendAsync(RecordBytes.Get(1, uri, keepConnection: false));
        var answer = (await connection.ReadAsync(1).WaitAsync(Waiting.Patience))[1];
        return [.. answer.Text.Split(' ').Select(static value => long.Parse(value, CultureInfo.InvariantCulture))];
    }

    private static (double ResidentMiB, int Descriptors) ReadProcess(int process)
    {
        var pages = File.ReadAllText($"/proc/{process}/statm").Split(' ')[1];
        return (long.Parse(pages, CultureInfo.InvariantCulture) * Environment.SystemPageSize / MiB, Directory.GetFiles($"/proc/{process}/fd").Length);
    }

    private static async Task<bool> AcceptsAsync(IPEndPoint endPoint)
    {
        try
        {
            using var connection = await SoakConnection.ConnectAsync(endPoint);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
