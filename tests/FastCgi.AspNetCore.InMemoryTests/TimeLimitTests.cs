using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// The section on time limits in <c>docs/robustness.md</c>: its defaults are those of the code, and with them, this
/// server waits for as long as each web server does.
/// </summary>
public sealed partial class TimeLimitTests
{
    private const int FirstWebServer = 2;

    private static readonly List<string[]> s_rows =
    [
        .. File.ReadAllText(Repository.GetPath("docs/robustness.md")).Split("## ")
            .Single(static section => section.StartsWith("Time limits", StringComparison.Ordinal)).Split('\n')
            .Where(static line => line.StartsWith("| ", StringComparison.Ordinal))
            .Select(static line => line.Trim('|').Split('|', StringSplitOptions.TrimEntries)),
    ];

    private static readonly string[] s_head = s_rows[0];

    // What the web server waits for, as a script in which that time passes.
    private static readonly Dictionary<string, string> s_scripts = new()
    {
        ["the client to take the response"] = "hold get {0} unreset release 200",
        ["the client to send the body"] = "post3/hash {0} unreset stdin3 stdin 200",
        ["the application to respond"] = "get/slow {0} unreset go 200",
        ["the next request on the connection"] = "get 200 {0} open get 200",
    };

    public static IEnumerable<object[]> Pairs
        => from row in s_rows
           where row.Length == s_head.Length && row != s_head
           from column in Enumerable.Range(FirstWebServer, s_head.Length - FirstWebServer)
           where row[column] != "closes"
           select new object[] { row[0], s_head[column], row[column] };

    /// <summary>A web server without a limit waits for nearly an hour here.</summary>
    [Theory, MemberData(nameof(Pairs))]
    public async Task Request_WebServerStillWaits_IsNotCut(string what, string webServer, string wait)
    {
        var times = Seconds().Matches(wait).Select(static time => time.Groups[1].Value).ToList();
        Assert.True(times.Count > 0 || wait.StartsWith("none", StringComparison.Ordinal), webServer);

        foreach (var time in times.Count > 0 ? times : ["3599"])
        {
            await Script.PlayAsync(
                string.Format(CultureInfo.InvariantCulture, s_scripts[what], $"{time}s"),
                static limits => limits.SendTimeout = new FastCgiServerLimits().SendTimeout);
        }
    }

    [Fact]
    public void Limits_EachOfTime_HasARowWithItsDefault()
    {
        var limits = new FastCgiServerLimits();
        var defaults = typeof(FastCgiServerLimits).GetProperties()
            .Where(static limit => limit.PropertyType != typeof(int) && limit.PropertyType != typeof(long)
                && limit.PropertyType != typeof(long?))
            .Select(limit => (limit.Name, Format(limit.GetValue(limits))))
            .Append(("HostOptions.ShutdownTimeout", Format(new HostOptions().ShutdownTimeout)));

        var listed = s_rows.SelectMany(static row => row.Length == s_head.Length
            ? Limit().Matches(row[1]).Select(static match => (match.Groups[1].Value, match.Groups[2].Value))
            : [(row[0].Trim('`'), row[1])]);
        Assert.Equal(
            defaults.Order(), listed.Where(static row => row.Item1 != "limit").Order());
    }

    private static string Format(object? value) => value switch
    {
        null => "none",
        TimeSpan { Minutes: 0, Seconds: 0 } time => $"{time.TotalHours:0} h",
        _ => $"{((TimeSpan)value).TotalSeconds:0} s",
    };

    [GeneratedRegex("([0-9]+) s")]
    private static partial Regex Seconds();

    [GeneratedRegex("`([A-Za-z]+)`: ([^|]+)")]
    private static partial Regex Limit();
}
