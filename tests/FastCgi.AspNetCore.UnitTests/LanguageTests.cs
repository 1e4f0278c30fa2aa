namespace FastCgi.AspNetCore.UnitTests;

/// <summary>Keeps words out of the documents that are not plain English.</summary>
public sealed partial class LanguageTests
{
    private static readonly string s_root = Repository.GetPath("");

    public static TheoryData<string> Documents => [.. new[] { "docs", "perf", "samples", "tests" }
        .SelectMany(static folder => Directory.EnumerateFiles(Path.Combine(s_root, folder), "*.md", SearchOption.AllDirectories))
        .Concat(Directory.EnumerateFiles(s_root, "*.md"))
        .Select(static file => Path.GetRelativePath(s_root, file))
        .Where(static file => !file.Split('/').Any(static part => part is "bin" or "obj" or "node_modules"))
        .Order(StringComparer.Ordinal)];

    [Theory, MemberData(nameof(Documents))]
    public void Words_ThatAreNotPlainEnglish_AreNotUsed(string document)
    {
        var found = File.ReadAllLines(Path.Combine(s_root, document))
            .Select(static (line, index) => (Number: index + 1, Word: Word().Match(line).Value))
            .Where(static line => line.Word.Length > 0);

        Assert.Empty(found);
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

    [GeneratedRegex(@"(?i:\b(nobody|goes on|all the same|look at)\b)")]
    private static partial Regex WordOfComment();

    // "Else" at the start of a sentence, table cell or comment is "otherwise".
    [GeneratedRegex(@"(?i:\b(mends?|whoever|tells? of|told of|patience)\b)|(?<=^|[.:;|#] |\()Else ")]
    private static partial Regex Word();
}
