namespace FastCgi.AspNetCore.UnitTests;

/// <summary>Keeps words that are not plain English out of documents, scripts and comments.</summary>
public sealed partial class LanguageTests
{
    private static readonly string s_root = Repository.GetPath("");

    public static TheoryData<string> Documents => [.. new[] { "docs", "perf", "samples", "tests" }
        .SelectMany(static folder => Directory.EnumerateFiles(
            Path.Combine(s_root, folder), "*.md", SearchOption.AllDirectories))
        .Concat(Directory.EnumerateFiles(s_root, "*.md"))
        .Select(static file => Path.GetRelativePath(s_root, file))
        .Where(static file => !file.Split('/').Any(static part => part is "bin" or "obj" or "node_modules"))
        .Order(StringComparer.Ordinal)];

    public static TheoryData<string> Scripts => [.. FindScripts()
        .Select(static file => Path.GetRelativePath(s_root, file))
        .Where(static file => !file.Split('/').Any(static part => part is "bin" or "obj" or "node_modules"))
        .Order(StringComparer.Ordinal)];

    [Theory, MemberData(nameof(Documents))]
    public void Words_ThatAreNotPlainEnglish_AreNotUsed(string document)
        => Assert.Empty(FindWords(Path.Combine(s_root, document), static line => line));

    [Theory, MemberData(nameof(Scripts))]
    public void Scripts_UsePlainEnglish(string script)
        => Assert.Empty(FindWords(Path.Combine(s_root, script), static line => line));

    [Theory]
    [InlineData("tests/FastCgi.AspNetCore.InMemoryTests")]
    [InlineData("tests/FastCgi.AspNetCore.UnitTests")]
    public void Comments_UsePlainEnglish(string folder)
    {
        var files = Directory.EnumerateFiles(Path.Combine(s_root, folder), "*.cs", SearchOption.AllDirectories)
            .Where(static file => !file.Split('/').Any(static part => part is "obj" or "Execution" or "Exploration"))
            .ToList();

        Assert.NotEmpty(files);
        Assert.Empty(files.SelectMany(static file => FindWords(file, static line => Comment().Match(line).Value)));
    }

    [Theory]
    [InlineData("src/FastCgi.Client")]
    [InlineData("src/FastCgi.Tool")]
    [InlineData("tests/FastCgi.Client.Tests")]
    [InlineData("tests/FastCgi.Tool.Tests")]
    public void Words_ThatAreNotPlainEnglish_AreNotUsedInComments(string folder)
    {
        var files = Directory.EnumerateFiles(Path.Combine(s_root, folder), "*.cs", SearchOption.AllDirectories)
            .Where(static file => !file.Contains("/obj/", StringComparison.Ordinal))
            .ToList();
        var comments = files.SelectMany(File.ReadLines)
            .Where(static line => line.Contains("// ", StringComparison.Ordinal))
            .Select(static line => line[line.IndexOf("// ", StringComparison.Ordinal)..]);

        Assert.NotEmpty(files);
        Assert.DoesNotContain(comments, static comment => Word().IsMatch(comment) || WordOfComment().IsMatch(comment));
    }

    private static IEnumerable<string> FindScripts()
        => new[] { ".github", "docs", "perf", "samples", "src", "tests" }
            .SelectMany(static folder => Directory.EnumerateFiles(
                Path.Combine(s_root, folder), "*", SearchOption.AllDirectories))
            .Where(static file => Path.GetExtension(file) is ".sh" or ".csproj" or ".props" or ".targets" or ".yml");

    private static IEnumerable<string> FindWords(string file, Func<string, string> getText)
        => File.ReadLines(file)
            .Select((line, index) => (Place: $"{file}:{index + 1}", Word: Word().Match(getText(line)).Value))
            .Where(static line => line.Word.Length > 0)
            .Select(static line => $"{line.Place}: {line.Word}");

    [GeneratedRegex(@"(?i:\b(nobody|goes on|all the same|look at)\b)")]
    private static partial Regex WordOfComment();

    // "Else" at the start of a sentence, table cell or comment is "otherwise".
    [GeneratedRegex(@"(?i:\b(mends?|whoever|tells? of|told of|patience)\b)|(?<=^|[.:;|#/>] |\(|>)Else ")]
    private static partial Regex Word();

    [GeneratedRegex("^ *//.*")]
    private static partial Regex Comment();
}
