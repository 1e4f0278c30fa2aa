using System.Reflection;
using System.Text.RegularExpressions;
using FastCgi.AspNetCore;
using FastCgi.Tool.Commands.Doctor;
using Microsoft.Extensions.Logging;

namespace FastCgi.Tool.Tests;

/// <summary>The tables of faults in the documents have the rules and events that there are, and no other.</summary>
public sealed partial class DoctorDocumentTests
{
    // What is said once, and is no Warning because it may be in order.
    private static readonly string[] s_advice = ["AuthorizationAbsent", "UserNotTaken"];

    private static readonly (string Name, LogLevel Level, string Message)[] s_events =
    [
        .. typeof(FastCgiServerOptions).Assembly.GetTypes()
            .SelectMany(static type => type.GetMethods(BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic))
            .SelectMany(static method => method.GetCustomAttributes<LoggerMessageAttribute>().Select(message => (method.Name, message.Level, message.Message))),
    ];

    [Fact]
    public void Rules_OfTheTableOfFaults_AreThere()
    {
        var named = FaultRows().SelectMany(static row => Code().Matches(row.Groups["rules"].Value)).Select(static match => match.Groups["name"].Value).Distinct().Order(StringComparer.Ordinal);

        Assert.All(named, static name => Assert.Contains(name, DoctorReport.Ids));
    }

    [Fact]
    public void Rules_AreThoseOfTheToolsPage()
    {
        var text = Read("tool.md");
        var start = text.IndexOf("| id | found in |", StringComparison.Ordinal);
        var named = Code().Matches(text[start..text.IndexOf("\n## config\n", start, StringComparison.Ordinal)]).Select(static match => match.Groups["name"].Value).Distinct().Order(StringComparer.Ordinal);

        Assert.Equal(DoctorReport.Ids, named);
    }

    /// <summary>The status has Warnings and advice; each of them that names a document is in the table, and each of the table names one.</summary>
    [Fact]
    public void Events_AreThoseOfTheTableOfFaults()
    {
        var named = FaultRows().SelectMany(static row => row.Groups["events"].Value.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries)).Order(StringComparer.Ordinal);
        var shown = s_events.Where(static one => (one.Level == LogLevel.Warning || s_advice.Contains(one.Name)) && one.Message.Contains("See docs/", StringComparison.Ordinal)).Select(static one => one.Name).Order(StringComparer.Ordinal);

        Assert.Equal(shown, named);
    }

    [Fact]
    public void Documents_ThatMessagesName_AreThere()
    {
        var links = s_events.SelectMany(static one => Link().Matches(one.Message)).Select(static match => (Page: match.Groups["page"].Value, Anchor: match.Groups["anchor"].Value)).Distinct().ToList();

        Assert.NotEmpty(links);
        Assert.All(links, static link => Assert.Contains(link.Anchor, Heading().Matches(Read(link.Page)).Select(static heading => Regex.Replace(heading.Groups["text"].Value.ToLowerInvariant(), "[^a-z0-9 -]", "").Replace(' ', '-'))));
    }

    private static List<Match> FaultRows()
    {
        var text = Read("troubleshooting.md");
        var start = text.IndexOf("| fault | log and status | doctor |", StringComparison.Ordinal);
        Assert.True(start > 0);
        var rows = FaultRow().Matches(text[start..text.IndexOf("\n\n", start, StringComparison.Ordinal)]).Skip(1).ToList();
        Assert.True(rows.Count > 20);
        return rows;
    }

    private static string Read(string name) => File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "Documents", name));

    [GeneratedRegex(@"^\| (?<fault>[^|]+) \|(?<events>[^|]*)\|(?<rules>[^|]*)\|$", RegexOptions.Multiline)]
    private static partial Regex FaultRow();

    [GeneratedRegex("`(?<name>[a-z]+(-[a-z]+)*)`")]
    private static partial Regex Code();

    [GeneratedRegex(@"See docs/(?<page>[\w-]+\.md)#(?<anchor>[\w-]+)\.")]
    private static partial Regex Link();

    [GeneratedRegex(@"^#+ (?<text>.+)$", RegexOptions.Multiline)]
    private static partial Regex Heading();
}
