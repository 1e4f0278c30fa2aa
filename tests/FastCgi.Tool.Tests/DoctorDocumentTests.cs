using System.Reflection;
using FastCgi.AspNetCore;
using FastCgi.Tool.Commands.Doctor.Rules;
using Microsoft.Extensions.Logging;

namespace FastCgi.Tool.Tests;

/// <summary>The documents list all rules, and contain the sections that messages refer to.</summary>
public sealed partial class DoctorDocumentTests
{
    private static readonly string[] s_messages =
    [
        .. typeof(FastCgiServerOptions).Assembly.GetTypes()
            .SelectMany(
                static type => type.GetMethods(BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic))
            .SelectMany(static method => method.GetCustomAttributes<LoggerMessageAttribute>().Select(
                static message => message.Message)),
    ];

    private static readonly string[] s_ids =
        [.. RuleList.All.Select(static rule => rule.Id).Order(StringComparer.Ordinal)];

    [Fact]
    public void Rules_Each_IsOnTheToolsPage()
    {
        var text = Read("tool.md");
        var start = text.IndexOf("| id | problem |", StringComparison.Ordinal);
        var named = Code().Matches(text[start..text.IndexOf("\n## config\n", start, StringComparison.Ordinal)]).Select(
            static match => match.Groups["name"].Value).Distinct().Order(StringComparer.Ordinal);

        Assert.Equal(s_ids, named);
    }

    [Fact]
    public void Documents_NamedInMessages_Exist()
    {
        var links = s_messages.SelectMany(static message => Link().Matches(message))
            .Select(static match => (Page: match.Groups["page"].Value, Anchor: match.Groups["anchor"].Value))
            .Distinct()
            .ToList();

        Assert.NotEmpty(links);
        Assert.All(links, static link => Assert.Contains(link.Anchor, ReadAnchors(link.Page)));
    }

    [Fact]
    public void EachRule_LinksToAHeading()
    {
        var links = RuleList.All.SelectMany(static rule => rule.Cases.Select(static one => one.Page).Append(rule.Page))
            .OfType<string>().Distinct().Select(static page => page.Split('#')).ToList();

        Assert.NotEmpty(links);
        Assert.All(links, static link => Assert.Contains(link[1], ReadAnchors(Path.GetFileName(link[0]))));
    }

    /// <summary>Each rule has a case, and each case has a rule.</summary>
    [Fact]
    public void Rules_AndCases_AreTheSame()
    {
        var cases = string.Join('\n', Directory.GetFiles(AppContext.BaseDirectory, "DoctorCases.tsv").Concat(
            Directory.GetFiles(Path.Combine(AppContext.BaseDirectory, "Sources"))).Select(File.ReadAllText));
        var named = Regex.Matches(cases, @"(?<=[\t""])(?:problem|note) (?<id>[a-z-]+)(?=[\s""])"
                + @"|AssertProblemAsync\(\s*""(?<id>[a-z-]+)""")
            .Select(static match => match.Groups["id"].Value).Distinct().Order(StringComparer.Ordinal);

        Assert.Equal(s_ids, named);
    }

    private static IEnumerable<string> ReadAnchors(string page)
        => Heading().Matches(Read(page)).Select(
            static heading => Regex.Replace(heading.Groups["text"].Value.ToLowerInvariant(), "[^a-z0-9 -]", "")
                .Replace(' ', '-'));

    private static string Read(string name)
        => File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "Documents", name));

    [GeneratedRegex("`(?<name>[a-z]+(-[a-z]+)*)`")]
    private static partial Regex Code();

    [GeneratedRegex(@"See https://\S+/docs/(?<page>[\w-]+\.md)#(?<anchor>[\w-]+)\.")]
    private static partial Regex Link();

    [GeneratedRegex(@"^#+ (?<text>.+)$", RegexOptions.Multiline)]
    private static partial Regex Heading();
}
