namespace SideBySide.Driver.Cases;

/// <summary>
/// Requests with more headers than a browser sends, which the application reads, without a web server.
/// </summary>
internal static class HeaderCases
{
    public static IEnumerable<Comparison> Make(Setup setup)
    {
        var own = new Lazy<ServerProcess>(() => setup.StartFastCgi(Setup.NewTcp()));
        var kestrel = new Lazy<ServerProcess>(() => setup.StartKestrel(Setup.NewTcp()));
        foreach (var headers in new[] { 1, 20, 60 })
        {
            var path = $"/headers/{headers}";
            yield return new Comparison($"{headers} more request headers, all read, direct, TCP, 100 connections",
                new Contender(
                    "Kestrel, HTTP",
                    () => setup.Load.RunHttp(
                        kestrel.Value, null, new HttpLoad(kestrel.Value.EndPoint, path) { Headers = headers }, 100)),
                new Contender("FastCgi.AspNetCore", () => setup.Load.RunFastCgi(own.Value, 100, "--path", path, "--headers", $"{headers}")));
        }

        setup.StopAll();
    }
}
