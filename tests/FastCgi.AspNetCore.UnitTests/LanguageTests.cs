namespace FastCgi.AspNetCore.UnitTests;

/// <summary>Keeps words that are not plain English out of documents, scripts and comments.</summary>
public sealed partial class LanguageTests
{
    // "Else" at the start of a sentence, table cell or comment is "otherwise".
    private const string WordPattern =
        @"(?i:\b(mends?|whoever|tells? of|told of|patience)\b)|(?<=^|[.:;|#/>] |\(|>)Else ";

    private static readonly string s_root = Repository.GetPath("");

    public static TheoryData<string> Texts => [.. new[] { ".github", "docs", "perf", "samples", "src", "tests" }
        .SelectMany(static folder => Directory.EnumerateFiles(
            Path.Combine(s_root, folder), "*", SearchOption.AllDirectories))
        .Concat(Directory.EnumerateFiles(s_root, "*.md"))
        .Where(static file => Path.GetExtension(file)
            is ".md" or ".sh" or ".csproj" or ".props" or ".targets" or ".yml")
        .Select(static file => Path.GetRelativePath(s_root, file))
        .Where(static file => !file.Split('/').Any(static part => part is "bin" or "obj" or "node_modules"))
        .Order(StringComparer.Ordinal)];

    [Theory, MemberData(nameof(Texts))]
    public void DocumentsAndScripts_UsePlainEnglish(string file)
        => Assert.Empty(FindWords(Path.Combine(s_root, file), static line => Word().Match(line)));

    [Theory]
    [InlineData("src/FastCgi.AspNetCore", true)]
    [InlineData("src/FastCgi.Client", true)]
    [InlineData("src/FastCgi.Tool", true)]
    [InlineData("tests/FastCgi.Client.Tests", true)]
    [InlineData("tests/FastCgi.Tool.Tests", true)]
    [InlineData("tests/FastCgi.AspNetCore.InMemoryTests", false)]
    [InlineData("tests/FastCgi.AspNetCore.UnitTests", false)]
    public void Comments_UsePlainEnglish(string folder, bool isStrict)
    {
        var files = Directory.EnumerateFiles(Path.Combine(s_root, folder), "*.cs", SearchOption.AllDirectories)
            .Where(static file => !file.Split('/').Any(static part => part is "obj"))
            .ToList();

        Assert.NotEmpty(files);
        Assert.Empty(files.SelectMany(file => FindWords(
            file, line => (isStrict ? WordOfComment() : Word()).Match(Comment().Match(line).Value))));
    }

    private static IEnumerable<string> FindWords(string file, Func<string, Match> find)
        => File.ReadLines(file)
            .Select((line, index) => (Place: $"{file}:{index + 1}", Word: find(line).Value))
            .Where(static line => line.Word.Length > 0)
            .Select(static line => $"{line.Place}: {line.Word}");

    [GeneratedRegex(WordPattern + @"|(?i:\b(nobody|goes on|all the same|look at)\b)")]
    private static partial Regex WordOfComment();

    [GeneratedRegex(WordPattern)]
    private static partial Regex Word();

    [GeneratedRegex("^ *//.*")]
    private static partial Regex Comment();
}
