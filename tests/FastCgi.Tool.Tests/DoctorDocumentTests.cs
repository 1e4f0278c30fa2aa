using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;
using FastCgi.AspNetCore;
using FastCgi.Tool.Commands;
using FastCgi.Tool.Commands.Doctor;
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

    [Fact]
    public void Rules_Each_IsOnTheToolsPage()
    {
        var text = Read("tool.md");
        var start = text.IndexOf("| id | problem |", StringComparison.Ordinal);
        var named = Code().Matches(text[start..text.IndexOf("\n## config\n", start, StringComparison.Ordinal)]).Select(
            static match => match.Groups["name"].Value).Distinct().Order(StringComparer.Ordinal);

        Assert.Equal(DoctorReport.Ids, named);
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
        var links = ToolCommand.ReadTable("rules.tsv").Values
            .Where(static row => row[1] != "fact")
            .Select(static row => row[5].Split('#'))
            .DistinctBy(static link => string.Join('#', link))
            .ToList();

        Assert.NotEmpty(links);
        Assert.All(links, static link => Assert.Contains(
            link[1], ReadAnchors(link[0].Length == 0 ? "troubleshooting.md" : Path.GetFileName(link[0]))));
    }

    /// <summary>Without its text, a rule would end in an exception.</summary>
    [Fact]
    public void EachRule_HasATextAndAPlaceInTheCode()
    {
        var table = ToolCommand.ReadTable("rules.tsv").Keys.Where(static name => name != "rule").ToHashSet();
        var named = ReadLiterals().Where(static text => RuleName().IsMatch(text)).ToHashSet();

        Assert.Empty(named.Except(table));
        // The name of the web server is added to these.
        Assert.All(table.Except(named), static name
            => Assert.Matches(@"\.(http-to-fastcgi(\.\w+)?|other-protocol|abstract-socket)$", name));
    }

    [Fact]
    public void EachRule_HasACase()
    {
        var cases = string.Join('\n', Directory.GetFiles(AppContext.BaseDirectory, "DoctorCases.tsv").Concat(
            Directory.GetFiles(Path.Combine(AppContext.BaseDirectory, "Sources"))).Select(File.ReadAllText));
        var without = DoctorReport.Ids.Where(id
            => !Regex.IsMatch(cases, $@"(problem|note) {id}\b|AssertProblemAsync\(\s*""{id}""|\(""{id}"","));

        Assert.Equal([], without);
    }

    /// <summary>The texts in the code of the tool.</summary>
    private static IEnumerable<string> ReadLiterals()
    {
        using var file = new PEReader(File.OpenRead(typeof(DoctorReport).Assembly.Location));
        var reader = file.GetMetadataReader();
        for (var handle = MetadataTokens.UserStringHandle(1); !handle.IsNil; handle = reader.GetNextHandle(handle))
            yield return reader.GetUserString(handle);
    }

    private static IEnumerable<string> ReadAnchors(string page)
        => Heading().Matches(Read(page)).Select(
            static heading => Regex.Replace(heading.Groups["text"].Value.ToLowerInvariant(), "[^a-z0-9 -]", "")
                .Replace(' ', '-'));

    private static string Read(string name)
        => File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "Documents", name));

    [GeneratedRegex(@"^(address|all|nginx|apache|lighttpd|haproxy|caddy)\.[a-z]+(-[a-z]+)*(\.[a-z]+)?$")]
    private static partial Regex RuleName();

    [GeneratedRegex("`(?<name>[a-z]+(-[a-z]+)*)`")]
    private static partial Regex Code();

    [GeneratedRegex(@"See docs/(?<page>[\w-]+\.md)#(?<anchor>[\w-]+)\.")]
    private static partial Regex Link();

    [GeneratedRegex(@"^#+ (?<text>.+)$", RegexOptions.Multiline)]
    private static partial Regex Heading();
}
