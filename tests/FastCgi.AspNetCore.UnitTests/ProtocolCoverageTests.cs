namespace FastCgi.AspNetCore.UnitTests;

/// <summary>
/// Each statement of tests/protocol-coverage.md and tests/robustness.md names source files and tests that exist.
/// </summary>
public sealed partial class ProtocolCoverageTests
{
    private static readonly string[] s_rows =
        [.. new[] { "tests/protocol-coverage.md", "tests/robustness.md" }.SelectMany(static file => File.ReadLines(
            Repository.GetPath(file))).Where(static line => RowStart().IsMatch(line))];

    [Fact]
    public void Rows_Each_NameTestsThatExist()
    {
        var tests = FindTests();

        Assert.NotEmpty(s_rows);
        Assert.All(s_rows, row =>
        {
            var named = TestName().Matches(row.Split('|')[^2]).Select(static name => name.Groups[1].Value).ToList();
            Assert.NotEmpty(named);
            Assert.Empty(named.Except(tests));
        });
    }

    [Fact]
    public void SourceFiles_Named_Exist()
    {
        var named = s_rows.SelectMany(static row => SourceName().Matches(row))
            .Select(static name => name.Groups[1].Value);

        Assert.NotEmpty(named);
        Assert.All(named, static name => Assert.True(
            File.Exists(Repository.GetPath($"src/FastCgi.AspNetCore/{name}")), name));
    }

    /// <summary>
    /// The tests of all projects, as Class.Method, from their source: this project does not reference the others.
    /// </summary>
    private static HashSet<string> FindTests() =>
    [
        .. from file in Directory.EnumerateFiles(Repository.GetPath("tests"), "*Tests.cs", SearchOption.AllDirectories)
           let source = File.ReadAllText(file)
           let type = Path.GetFileNameWithoutExtension(file)
           from Match method in TestMethod().Matches(source)
           select $"{type}.{method.Groups[1].Value}",
    ];

    [GeneratedRegex(@"^\| [SCDB]\d+ \|")]
    private static partial Regex RowStart();

    [GeneratedRegex(@"`([\w/.]+\.cs)`")]
    private static partial Regex SourceName();

    [GeneratedRegex(@"`(\w+Tests\.\w+)`")]
    private static partial Regex TestName();

    [GeneratedRegex(@"\[\w*(?:Fact|Theory)\b[\s\S]*?public (?:async )?(?:Task|void) (\w+)\(")]
    private static partial Regex TestMethod();
}
