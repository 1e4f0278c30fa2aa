using System.Net;

namespace SideBySide.Driver.Cases;

/// <summary>Both servers behind the same nginx.</summary>
internal static class NginxCases
{
    private const string Through = "through nginx, unix socket, 30 connections";

    public static IEnumerable<Comparison> Make(Setup setup)
    {
        foreach (var isUnix in new[] { true, false })
        {
            var transport = isUnix ? "unix socket" : "TCP";
            var minimal = new SitePair(setup, (at, isFastCgi) => setup.StartPackaged("minimal", at, isFastCgi), () => isUnix ? setup.NewUnix() : Setup.NewTcp());
            yield return minimal.Compare($"hello, through nginx, {transport}, 30 connections", "/", 30,
                asked: isUnix ? [SitePair.WithNginx("nginx + backend, unix socket, 30 connections, against Kestrel", Bound.AtMost(0.48, 0.45))] : []);
            yield return minimal.Compare($"hello, through nginx, {transport}, 400 connections", "/", 400,
                asked: isUnix ? [SitePair.WithNginx("the same, 400 connections", Bound.AtMost(0.44, 0.40))] : []);
            setup.StopAll();
        }

        foreach (var comparison in Pages(setup))
            yield return comparison;
        setup.StopAll();
    }

    private static IEnumerable<Comparison> Pages(Setup setup)
    {
        setup.MakeFile("1k.bin", 1024);
        setup.MakeFile("100k.bin", 100 * 1024);
        var site = new SitePair(setup, (at, isFastCgi) => isFastCgi ? setup.StartFastCgi(at) : setup.StartKestrel(at), setup.NewUnix);
        yield return site.Compare($"JSON, {Through}", "/json", 30);
        if (Setup.Database.Length > 0)
        {
            yield return site.Compare($"page with a database, {Through}", "/fortunes", 30, asked:
            [
                SitePair.Backend("page with a database, backend, against Kestrel", Bound.AtMost(0.88, 0.80)),
                SitePair.Slowest("the same, p99", Bound.AtMost(1.0, 1.0)),
            ]);
        }

        yield return site.Compare($"static file of 1 KiB, {Through}", "/files/1k.bin", 30);
        yield return site.Compare($"static file of 100 KiB, {Through}", "/files/100k.bin", 30);
        yield return site.Compare($"POST of 1 KiB, {Through}", "/upload", 30, bodySize: 1024);
        yield return site.Compare($"POST of 1 MiB, {Through}", "/upload", 30, bodySize: 1024 * 1024);
        yield return site.CompareTransfer("upload of 1 GiB, through nginx, unix socket; MB/s", isUpload: true);
        yield return site.CompareTransfer("download of 1 GiB, through nginx, unix socket; MB/s", isUpload: false);
        foreach (var headers in new[] { 1, 20, 60 })
            yield return site.Compare($"{headers} more request headers, all read, {Through}", $"/headers/{headers}", 30, headers: headers);
    }
}
