namespace FastCgi.AspNetCore.ParityTests.Comparison;

/// <summary>Finds differences between sites that are not allowed.</summary>
internal static class SiteComparison
{
    // Headers in which each server or web server describes itself: the clock, the server's name, and the connection.
    private static readonly string[] s_ignoredHeaders = ["Date", "Server", "Connection", "Keep-Alive"];

    public static IReadOnlyList<string> Compare(IReadOnlyDictionary<SiteKind, IReadOnlyList<Exchange>> exchanges) =>
    [
        .. Compare(
            exchanges,
            SiteKind.KestrelBehindNginx,
            SiteKind.FastCgiBehindNginx,
            exchange => exchange.DescribeResponse()),
        .. Compare(exchanges, SiteKind.Kestrel, SiteKind.FastCgiBehindApache, exchange => exchange.DescribeResponse()),
        .. Compare(exchanges, SiteKind.Kestrel, SiteKind.FastCgiBehindNginx, exchange => exchange.DescribeSeen()),
        .. Compare(exchanges, SiteKind.Kestrel, SiteKind.FastCgiBehindApache, exchange => exchange.DescribeSeen()),
    ];

    private static IEnumerable<string> Compare(
        IReadOnlyDictionary<SiteKind, IReadOnlyList<Exchange>> exchanges,
        SiteKind kestrel,
        SiteKind fastCgi,
        Func<Exchange, IReadOnlyDictionary<string, string>> describe)
    {
        return exchanges[kestrel].Zip(exchanges[fastCgi])
            .SelectMany(
                pair => Compare(
                    fastCgi,
                    $"{pair.First.Request} → {pair.First.Response.Status}",
                    describe(pair.First),
                    describe(pair.Second)));
    }

    private static IEnumerable<string> Compare(
        SiteKind site,
        string request,
        IReadOnlyDictionary<string, string> kestrel,
        IReadOnlyDictionary<string, string> fastCgi)
    {
        // A request that did not reach the application has no values.
        var isSeenByBoth = kestrel.GetValueOrDefault("reached") == fastCgi.GetValueOrDefault("reached");
        var names = isSeenByBoth ? kestrel.Keys.Union(fastCgi.Keys) : ["reached"];
        foreach (var name in names.Where(name => !IsIgnored(name)))
        {
            var expected = kestrel.GetValueOrDefault(name, AllowedDifference.Absent);
            var actual = fastCgi.GetValueOrDefault(name, AllowedDifference.Absent);
            var difference = AllowedDifferences.All.FirstOrDefault(
                difference => difference.IsAbout(site, request, name, expected));
            if (difference is null ? expected != actual : !difference.Allows(expected, actual))
                yield return $"{site}, {request}, {name}:\n    Kestrel: {expected}\n    FastCgi: {actual}";
        }
    }

    private static bool IsIgnored(string name)
        => s_ignoredHeaders.Any(header => name.Equals($"header {header}", StringComparison.OrdinalIgnoreCase)
            || name.EndsWith($"Response.Headers[{header}]", StringComparison.Ordinal)
            || name.EndsWith($"ResponseFeature.Headers[{header}]", StringComparison.Ordinal));
}
