using System.Net;

namespace SideBySide.Driver.Cases;

/// <summary>Both servers behind the same nginx.</summary>
internal static class NginxCases
{
    public static IEnumerable<Comparison> Make(Setup setup)
    {
        setup.MakeFile("1k.bin", 1024);
        setup.MakeFile("100k.bin", 100 * 1024);
        foreach (var isUnix in new[] { true, false })
        {
            EndPoint At() => isUnix ? setup.NewUnix() : Setup.NewTcp();
            Behind[] sites = [Kestrel(setup, At()), FastCgi(setup, At())];
            var transport = isUnix ? "unix socket" : "TCP";
            yield return Page(setup, sites, $"hello, through nginx, {transport}, 30 connections", "/", 30);
            yield return Page(setup, sites, $"hello, through nginx, {transport}, 400 connections", "/", 400);
            if (isUnix)
            {
                foreach (var comparison in Pages(setup, sites))
                    yield return comparison;
            }

            setup.StopAll();
        }
    }

    private static IEnumerable<Comparison> Pages(Setup setup, Behind[] sites)
    {
        const string Through = "through nginx, unix socket, 30 connections";
        yield return Page(setup, sites, $"JSON, {Through}", "/json", 30);
        if (Setup.Database.Length > 0)
            yield return Page(setup, sites, $"page with a database, {Through}", "/fortunes", 30);
        yield return Page(setup, sites, $"static file of 1 KiB, {Through}", "/files/1k.bin", 30);
        yield return Page(setup, sites, $"static file of 100 KiB, {Through}", "/files/100k.bin", 30);
        yield return Page(setup, sites, $"POST of 1 KiB, {Through}", "/upload", 30, 1024);
        yield return Page(setup, sites, $"POST of 1 MiB, {Through}", "/upload", 30, 1024 * 1024);
        yield return Transfer(setup, sites, "upload of 1 GiB, through nginx, unix socket; MB/s", isUpload: true);
        yield return Transfer(setup, sites, "download of 1 GiB, through nginx, unix socket; MB/s", isUpload: false);
    }

    private static Comparison Page(Setup setup, Behind[] sites, string title, string path, int connections, int bodySize = 0) => new(title,
        [.. sites.Select(site => new Contender(site.Name, () => setup.Load.RunHttp(
            site.Server, site.Nginx, $"http://{site.Nginx.EndPoint}{path}", connections, bodySize)))]);

    private static Comparison Transfer(Setup setup, Behind[] sites, string title, bool isUpload) => new(title,
        [.. sites.Select(site => new Contender(site.Name, () => LargeTransfer.Run(setup, site.Server, site.Nginx, isUpload)))]);

    private static Behind Kestrel(Setup setup, EndPoint at)
    {
        var server = setup.StartKestrel(at);
        return new Behind("Kestrel, proxy_pass", server, setup.StartNginx(server, isFastCgi: false));
    }

    private static Behind FastCgi(Setup setup, EndPoint at)
    {
        var server = setup.StartFastCgi(at);
        return new Behind("FastCgi.AspNetCore, fastcgi_pass", server, setup.StartNginx(server, isFastCgi: true));
    }

    private sealed record Behind(string Name, ServerProcess Server, ServerProcess Nginx);
}
