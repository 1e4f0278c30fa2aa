using System.Net;

namespace SideBySide.Driver.Cases;

/// <summary>Both servers behind the same nginx.</summary>
internal static class NginxCases
{
    private const int Megabyte = 1024 * 1024;

    private static readonly (string What, string Path, int BodySize, string BodyKind)[] s_transfers =
    [
        ("download of 1 MiB from memory", $"/download/{Megabyte}", 0, ""),
        ("download of 1 MiB from a file", "/files/1m.bin", 0, ""),
        ("upload of 1 MiB, CopyToAsync", "/copy", Megabyte, ""),
        ("upload of 1 MiB, a form file", "/form-file", Megabyte, "form"),
    ];

    private const string Through = "through nginx, unix socket, 30 connections";

    public static IEnumerable<Comparison> Make(Setup setup)
    {
        foreach (var isUnix in new[] { true, false })
        {
            var transport = isUnix ? "unix socket" : "TCP";
            var minimal = new SitePair(
                setup,
                (at, isFastCgi) => setup.StartPackaged("minimal", at, isFastCgi),
                () => isUnix ? setup.NewUnix() : Setup.NewTcp());
            yield return minimal.Compare($"hello, through nginx, {transport}, 30 connections", "/", 30,
                targets: isUnix ? [SitePair.WithNginx("nginx + backend, unix socket, 30 connections, relative to Kestrel", Bound.AtMost(0.48))] : []);
            yield return minimal.Compare($"hello, through nginx, {transport}, 400 connections", "/", 400,
                targets: isUnix ? [SitePair.WithNginx("the same, 400 connections", Bound.AtMost(0.44))] : []);
            if (isUnix)
                yield return minimal.Compare($"hello, ab, {Through}", "/", 30, usesAb: true);
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
        setup.MakeFile("1m.bin", Megabyte);
        var site = new SitePair(
            setup, (at, isFastCgi) => isFastCgi ? setup.StartFastCgi(at) : setup.StartKestrel(at), setup.NewUnix);
        yield return site.Compare($"JSON, {Through}", "/json", 30);
        yield return site.Compare($"JSON, ab, {Through}", "/json", 30, usesAb: true);
        if (Setup.Database.Length > 0)
        {
            foreach (var connections in new[] { 1, 10 })
                yield return site.Compare($"page with 50 rows, ab, through nginx, unix socket, {connections} connections", "/npgsql/50", connections, usesAb: true);
            foreach (var connections in new[] { 30, 100 })
            {
                yield return site.Compare($"page with a database, through nginx, unix socket, {connections} connections", "/fortunes", connections, targets:
                [
                    SitePair.Backend(
                        $"page with a database, {connections} connections, backend, relative to Kestrel",
                        Bound.AtMost(0.90)),
                    SitePair.Slow("the same, p99", static sample => sample.P99, Bound.AtMost(0.5)),
                ]);
            }
        }

        yield return site.Compare($"static file of 1 KiB, {Through}", "/files/1k.bin", 30);
        yield return site.Compare($"static file of 100 KiB, {Through}", "/files/100k.bin", 30);
        yield return site.Compare($"POST of 1 KiB, {Through}", "/upload", 30, bodySize: 1024);
        yield return site.Compare($"POST of 2 KB of JSON, an equally large response, {Through}", "/echo", 30, bodySize: 2_000, bodyKind: "json", targets:
            [SitePair.Backend("POST of 2 KB of JSON, backend, relative to Kestrel", Bound.AtMost(0.4))]);
        foreach (var (what, path, size, kind) in s_transfers)
        {
            yield return site.Compare($"{what}, {Through}", path, 30, bodySize: size, bodyKind: kind, targets:
            [
                SitePair.Backend($"{what}, backend, relative to Kestrel", Bound.AtMost(0.8)),
                SitePair.WithNginx("the same, with nginx", Bound.AtMost(0.8)),
            ]);
        }

        yield return site.CompareAtHalfLoad(
            "hello at half of Kestrel's capacity, through nginx, unix socket, 200 connections",
            "/",
            200,
            setup.Settings.IsQuick ? 20 : 600,
            SitePair.Slow(
                    "half of Kestrel's capacity, 200 connections, p99",
                    static sample => sample.P99,
                    Bound.AtMost(0.5)),
                SitePair.Slow("the same, p99.9", static sample => sample.P999, Bound.AtMost(0.5)),
                SitePair.Slow("the same, the slowest", static sample => sample.Slowest, Bound.AtMost(0.5)));
        yield return site.CompareTransfer("upload of 1 GiB, through nginx, unix socket; MB/s", isUpload: true);
        yield return site.CompareTransfer("download of 1 GiB, through nginx, unix socket; MB/s", isUpload: false);
        foreach (var headers in new[] { 1, 20, 60 })
            yield return site.Compare(
                $"{headers} more request headers, all read, {Through}", $"/headers/{headers}", 30, headers: headers);
    }
}
