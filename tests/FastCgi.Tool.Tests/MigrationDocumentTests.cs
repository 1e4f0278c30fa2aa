namespace FastCgi.Tool.Tests;

/// <summary>The directives in <c>docs/migration.md</c>, against those of the installed nginx.</summary>
public sealed partial class MigrationDocumentTests
{
    // Names in nginx that are no directives for a location.
    private static readonly string[] s_others =
        ["add_x_forwarded_for", "headers_hash", "host", "port", "recursive"];

    /// <summary>nginx does not start with a directive that does not exist, such as fastcgi_http_version.</summary>
    [Fact]
    public async Task ProxyDirectives_WithoutACounterpart_AreToBeRemoved()
    {
        var program = await File.ReadAllTextAsync(Programs.Find("nginx"), Encoding.Latin1);
        var document = await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "Documents", "migration.md"));
        var line = document.Split('\n').Single(
            static line => line.Contains("Remove `proxy_set_header`"));
        var removed = Documented().Matches(line[line.IndexOf("Remove ", StringComparison.Ordinal)..])
            .Select(static match => match.Groups["name"].Value).ToList();
        var counterparts = Find("fastcgi");
        Assert.Contains("read_timeout", counterparts);

        foreach (var name in Find("proxy").Except(s_others))
        {
            // Those of mail and stream proxies.
            if (!name.StartsWith("protocol", StringComparison.Ordinal))
                Assert.True(counterparts.Contains(name) != removed.Any(start => IsNamed(name, start)), name);
        }

        HashSet<string> Find(string prefix) =>
        [
            .. Regex.Matches(program, $@"(?<=\0){prefix}_(?<name>[a-z_]+)(?=\0)")
                .Select(static match => match.Groups["name"].Value),
        ];
    }

    private static bool IsNamed(string name, string documented) => documented.EndsWith('…')
        ? name.StartsWith(documented[..^1], StringComparison.Ordinal)
        : name == documented;

    [GeneratedRegex("`proxy_(?<name>[a-z_]+…?)`")]
    private static partial Regex Documented();
}
