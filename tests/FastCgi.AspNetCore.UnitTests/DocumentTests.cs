using Xunit.Abstractions;

namespace FastCgi.AspNetCore.UnitTests;

/// <summary>Checks by reading: links, who runs the blocks, and the events that documents name.</summary>
public sealed partial class DocumentTests(ITestOutputHelper output)
{
    // Tests run these pages by the headings of their sections, or as a whole.
    private static readonly string[] s_pagesWithTests = ["docs/front-ends/"];

    private static readonly string s_root = Repository.GetPath("");

    public static TheoryData<string> Documents => [.. FindFiles("*.md").Order(StringComparer.Ordinal)];

    [Theory, MemberData(nameof(Documents))]
    public void Links_WithinTheRepository_LeadSomewhere(string document)
    {
        var links = Link().Matches(WithoutBlocks(Read(document))).Select(static match => match.Groups["target"].Value)
            .Where(target => !target.Contains("://")
                && !target.StartsWith("mailto:", StringComparison.Ordinal)
                && !IsThere(document, target))
            .ToList();

        Assert.Empty(links);
    }

    /// <summary>The links that <c>build/links.sh</c> requests, each of which a person has checked.</summary>
    [Fact]
    public void Links_OutOfTheRepository_AreListedInTheFile()
    {
        const string List = "tests/FastCgi.AspNetCore.UnitTests/ExternalLinks.txt";
        var links = FindFiles("*.md").SelectMany(static file => Link().Matches(WithoutBlocks(Read(file)))).Select(
            static match => match.Groups["target"].Value)
            .Where(static target => target.Contains("://"))
                .Distinct().Order(StringComparer.Ordinal).ToList();
        var written = Path.Combine(AppContext.BaseDirectory, "ExternalLinks.txt");
        File.WriteAllLines(written, links);

        var listed = Read(List).Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.True(
            links.SequenceEqual(listed),
            $"New: {string.Join(' ', links.Except(listed))}. Gone: {string.Join(' ', listed.Except(links))}. Open the "
                + $"new links, then copy {written} over {List}.");
    }

    /// <summary>A test runs each block that readers copy, or a comment in the source states why not.</summary>
    [Fact]
    public void Blocks_OfCommandsAndConfigurations_AreRunOrSayWhyNot()
    {
        var tests = string.Concat(
            FindFiles("*.cs").Where(static file => file.StartsWith("tests/", StringComparison.Ordinal)).Select(Read));
        var blocks = FindFiles("*.md").Where(
            static file => file == "README.md" || file.StartsWith("docs/", StringComparison.Ordinal))
            .Where(static file => !s_pagesWithTests.Any(page => file.StartsWith(page, StringComparison.Ordinal)))
            .SelectMany(static file => Block().Matches(Read(file)).Select(
                match => (File: file, Language: match.Groups["language"].Value, Mark: match.Groups["mark"].Value)))
            // ConfigurationDocumentTests runs all JSON blocks; a picture has no language.
            .Where(static block => block.Language is not ("csharp" or "json" or "") || block.Mark.Length > 0)
            .ToList();

        var notRun = blocks.Where(static block => block.Mark.StartsWith("not run: ", StringComparison.Ordinal))
            .ToList();
        output.WriteLine($"{blocks.Count} blocks, {notRun.Count} of them not run:");
        foreach (var (file, _, mark) in notRun)
            output.WriteLine($"  {file}: {mark}");

        Assert.NotEmpty(blocks);
        Assert.All(blocks.Except(notRun), block => Assert.True(block.Mark.Length > 0 && tests.Contains(
            block.Mark.StartsWith("run by ", StringComparison.Ordinal)
                ? $"class {block.Mark["run by ".Length..]}\n"
                : $"\"{block.Mark}\""), $"{block}"));
    }

    /// <summary>Neither a shell nor systemd accepts a dot in the name of an environment variable.</summary>
    [Fact]
    public void EnvironmentVariables_InDocumentsAndSamples_HaveNoDots()
    {
        var names = new[] { "*.md", "*.service", "*.sh", "*.yaml", "*.conf" }.SelectMany(FindFiles)
            .SelectMany(static file => EnvironmentVariable().Matches(Read(file)))
            .Select(static match => match.Value).ToList();

        Assert.Contains("FastCgi__Endpoints__Web__Url", names);
        Assert.DoesNotContain(names, static name => name.Contains('.'));
    }

    /// <summary>Each mark of the comparison has a test or a source beside it.</summary>
    [Fact]
    public void Marks_OfTheComparison_HaveASource()
    {
        var rows = Read("docs/comparison.md").Split('\n')
            .Where(static line => line.StartsWith("| ", StringComparison.Ordinal))
            .Select(static line => line.Split('|')[1..^1])
            .Where(static cells => cells.Length == 4).Skip(1).ToList();

        Assert.NotEmpty(rows);
        Assert.All(rows, static cells => Assert.All(
            cells.Where(static (cell, index) => index > 0 && cell.Trim() is not ("" or "–")),
            static cell => Assert.Matches(@"^ [✓~✗] .*\]\(", cell)));
    }

    /// <summary>A tag could be moved to other code.</summary>
    [Fact]
    public void Workflows_Actions_ArePinnedToCommits()
    {
        var actions = Directory.GetFiles(Path.Combine(s_root, ".github/workflows")).SelectMany(File.ReadLines)
            .Where(static line => line.Contains("uses:")).ToList();

        Assert.NotEmpty(actions);
        Assert.All(actions, static line => Assert.Matches("@[0-9a-f]{40} # v[0-9.]+$", line));
    }

    [Fact]
    public void Events_NamedInADocument_Exist()
    {
        var known = LogMessages.All.Select(
            static message => $"event {message.Attribute.EventId} ({message.Name})").ToHashSet();

        var named = FindFiles("*.md").SelectMany(static file => Event().Matches(Read(file)))
            .Select(static match => "e" + match.Value[1..]).ToList();
        Assert.NotEmpty(named);
        Assert.Empty(named.Except(known));
    }

    private static IEnumerable<string> FindFiles(string pattern)
        => Directory.EnumerateFiles(s_root, pattern, SearchOption.AllDirectories)
            .Select(static file => Path.GetRelativePath(s_root, file))
            .Where(
                static file => !file.Split('/').Any(static part => part is "bin" or "obj" or "node_modules" or ".git"));

    private static string Read(string file) => File.ReadAllText(Path.Combine(s_root, file));

    private static string WithoutBlocks(string text) => InlineCode().Replace(Block().Replace(text, ""), "");

    private static bool IsThere(string document, string link)
    {
        var parts = link.Split('#');
        var target = parts[0].Length == 0 ? document : Path.GetRelativePath(
            s_root, Path.GetFullPath(Path.Combine(s_root, Path.GetDirectoryName(document)!, parts[0])));
        return Path.Exists(Path.Combine(s_root, target))
            && (parts.Length == 1 || GetAnchors(Read(target)).Contains(parts[1]));
    }

    /// <summary>The names that GitHub gives to headings.</summary>
    private static HashSet<string> GetAnchors(string text)
    {
        var anchors = Anchor().Matches(text).Select(static match => match.Groups["id"].Value).ToHashSet();
        foreach (Match heading in Heading().Matches(Block().Replace(text, "")))
        {
            var name = new StringBuilder();
            foreach (var letter in LinkedText().Replace(heading.Groups["text"].Value, "$1").ToLowerInvariant().Where(
                static letter => char.IsLetterOrDigit(letter) || letter is ' ' or '-' or '_'))
                name.Append(letter == ' ' ? '-' : letter);
            for (var count = 0; !anchors.Add(count == 0 ? name.ToString() : $"{name}-{count}"); count++)
            {
            }
        }

        return anchors;
    }

    [GeneratedRegex(@"\]\((?<target>[^)\s]+)\)")]
    private static partial Regex Link();

    [GeneratedRegex(
        @"(^<!-- (?<mark>[^\n]+) -->\n)?^ *```(?<language>\w*)\n(.*?\n)?^ *```$",
        RegexOptions.Multiline | RegexOptions.Singleline | RegexOptions.ExplicitCapture)]
    private static partial Regex Block();

    [GeneratedRegex("`[^`\n]+`")]
    private static partial Regex InlineCode();

    [GeneratedRegex(@"^#+ (?<text>.+?)$", RegexOptions.Multiline)]
    private static partial Regex Heading();

    [GeneratedRegex(@"<a id=""(?<id>[\w-]+)""></a>")]
    private static partial Regex Anchor();

    [GeneratedRegex(@"\[([^\]]*)\]\([^)]*\)")]
    private static partial Regex LinkedText();

    [GeneratedRegex(@"\b[A-Za-z]+__[\w.]*\w")]
    private static partial Regex EnvironmentVariable();

    [GeneratedRegex(@"[Ee]vent \d+ \(\w+\)")]
    private static partial Regex Event();
}
