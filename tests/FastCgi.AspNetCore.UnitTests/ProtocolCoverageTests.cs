namespace FastCgi.AspNetCore.UnitTests;

/// <summary>tests/protocol-coverage.md names each statement once, and tests and files that exist.</summary>
public sealed partial class ProtocolCoverageTests
{
    private static readonly string[] s_rows =
        [.. new[] { "tests/protocol-coverage.md", "docs/robustness.md" }.SelectMany(static file => File.ReadLines(
            Repository.GetPath(file))).Where(static line => RowStart().IsMatch(line))];

    [Theory]
    [InlineData("S", 54)]
    [InlineData("C", 10)]
    [InlineData("D", 21)]
    [InlineData("B", 10)]
    public void Rows_EachStatement_OneInOrder(string series, int count)
        => Assert.Equal(
            Enumerable.Range(1, count).Select(number => series + number),
            s_rows.Select(Id).Where(id => id.StartsWith(series, StringComparison.Ordinal)));

    [Fact]
    public void Tests_ThatAreNamed_Exist()
    {
        var tests = FindTests();

        var missing = s_rows.SelectMany(static row => TestName().Matches(Cells(row)[^1]))
            .Select(static name => name.Groups[1].Value).Where(name => !tests.Contains(name));
        Assert.Empty(missing);
    }

    [Fact]
    public void Rows_WithoutATest_SayThatItIsNotDone()
        => Assert.All(s_rows, static row => Assert.True(
            TestName().IsMatch(Cells(row)[^1]) || row.Contains("Not done yet", StringComparison.Ordinal), row));

    [Fact]
    public void Files_ThatAreNamed_Exist()
    {
        var files = s_rows.Where(static row => Cells(row).Length == 5)
            .SelectMany(static row => FileName().Matches(Cells(row)[3])).Select(static name => name.Groups[1].Value);

        Assert.All(files, static file => Assert.True(File.Exists(Repository.GetPath(
            Path.Combine("src/FastCgi.AspNetCore", file))), file));
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

    private static string[] Cells(string row) => [.. row.Trim('|').Split('|').Select(static cell => cell.Trim())];

    private static string Id(string row) => Cells(row)[0];

    [GeneratedRegex(@"^\| [SCDB]\d+ \|")]
    private static partial Regex RowStart();

    [GeneratedRegex(@"`(\w+Tests\.\w+)`")]
    private static partial Regex TestName();

    [GeneratedRegex(@"`([\w./]+\.cs)`")]
    private static partial Regex FileName();

    [GeneratedRegex(@"\[\w*(?:Fact|Theory)\b[\s\S]*?public (?:async )?(?:Task|void) (\w+)\(")]
    private static partial Regex TestMethod();
}
