using System.Diagnostics;
using System.Globalization;
using FastCgi.AspNetCore.Soak;

// serve ENGINE ADDRESS...: runs the server in a separate process.
if (args is ["serve", .. var rest])
{
    SoakApplication.Run(rest);
    return 0;
}

// [--requests N] [--seconds N]: of both engines together.
var requests = 2_000_000L;
TimeSpan? time = null;
for (var i = 0; i + 1 < args.Length; i += 2)
{
    switch (args[i])
    {
        case "--requests":
            requests = long.Parse(args[i + 1], CultureInfo.InvariantCulture);
            break;
        case "--seconds":
            time = TimeSpan.FromSeconds(int.Parse(args[i + 1], CultureInfo.InvariantCulture));
            break;
        default:
            Console.Error.WriteLine($"Unknown option {args[i]}. Known are --requests N and --seconds N.");
            return 2;
    }
}

var hasNginx = "/usr/sbin:/usr/bin".Split(':')
    .Concat((Environment.GetEnvironmentVariable("PATH") ?? "").Split(':'))
    .Any(static folder => File.Exists(Path.Combine(folder, "nginx")));
if (!hasNginx)
    Console.WriteLine("nginx is not installed: nothing is sent through it.");

var watch = Stopwatch.StartNew();
List<EngineResult> results = [];
foreach (var engine in OperatingSystem.IsLinux() ? new[] { "Epoll", "Socket" } : ["Socket"])
    results.Add(await EngineRun.RunAsync(engine, requests / 2, time / 2, hasNginx));

SoakReport.Print(results, watch.Elapsed);
return results.All(SoakReport.IsGood) ? 0 : 1;
