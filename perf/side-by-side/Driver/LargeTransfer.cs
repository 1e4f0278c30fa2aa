using System.Diagnostics;
using System.Globalization;

namespace SideBySide.Driver;

/// <summary>One body of 1 GiB, sent or fetched by curl.</summary>
internal static class LargeTransfer
{
    private const long Length = 1L << 30;

    public static Sample Run(Setup setup, ServerProcess server, ServerProcess nginx, bool isUpload)
    {
        var file = Path.Combine(setup.Folder, "1g");
        if (!File.Exists(file))
        {
            using var created = File.Create(file);
            created.SetLength(Length);
        }

        string[] arguments = isUpload
            ?
            [
                "-sSf", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Expect:", "-T", file, "-X", "POST",
                $"http://{nginx.EndPoint}/upload",
            ]
            :
            [
                "-sSf",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code}",
                $"http://{nginx.EndPoint}/download/{Length.ToString(CultureInfo.InvariantCulture)}",
            ];
        var (serverTime, nginxTime, clock) = (server.CpuTime, nginx.CpuTime, Stopwatch.StartNew());
        var report = new Generators.Running(setup.Settings.LoadCores, "curl", [], arguments).End();
        return new Sample
        {
            ServerCpu = server.CpuTime - serverTime,
            FrontCpu = nginx.CpuTime - nginxTime,
            Rate = Length / clock.Elapsed.TotalSeconds / 1e6,
            Memory = server.Memory,
            Errors = report == "200" ? 0 : 1,
        };
    }
}
