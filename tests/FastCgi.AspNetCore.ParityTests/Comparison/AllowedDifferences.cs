namespace FastCgi.AspNetCore.ParityTests.Comparison;

/// <summary>All allowed differences: the rows of the table in <c>tests/parity.md</c>.</summary>
internal static partial class AllowedDifferences
{
    public static IReadOnlyList<AllowedDifference> All { get; } = [.. Read()];

    private static IEnumerable<AllowedDifference> Read()
        => from line in File.ReadLines(Path.Combine(AppContext.BaseDirectory, "parity.md"))
               .SkipWhile(static line => line != "|---|---|").Skip(1).TakeWhile(static line => line.StartsWith('|'))
           from change in line.Split(" | ")[1].TrimEnd(' ', '|').Replace("\\|", "|").Split("<br>")
           from difference in Parse(change)
           select difference;

    private static IEnumerable<AllowedDifference> Parse(string text)
    {
        var groups = Change().Match(text).Groups;
        Assert.True(groups[0].Success, $"tests/parity.md has a difference that cannot be read: {text}");
        return groups["value"].Captures.Select(value => new AllowedDifference(
            groups["site"].Success ? $"FastCgiBehind{groups["site"].Value}" : "*",
            value.Value,
            groups["kestrel"].Value,
            groups["fastCgi"].Value)
        {
            Request = groups["request"].Success ? groups["request"].Value : "*",
            IsOptional = groups["optional"].Success,
            Since = groups["since"].Success ? groups["since"].Value : "0.0",
        });
    }

    [GeneratedRegex(
        "^(`(?<value>[^`]*)`(, )?)+( of `(?<request>[^`]*)`)?( through (?<site>Nginx|Apache))?"
            + "( since (?<since>[0-9.]+))?: `(?<kestrel>[^`]*)` → `(?<fastCgi>[^`]*)`(?<optional> or the same)?$",
        RegexOptions.ExplicitCapture)]
    private static partial Regex Change();
}
