namespace FastCgi.AspNetCore.UnitTests;

/// <summary>Each statement of <c>tests/server-contract.md</c> has a test, or a difference that is stated.</summary>
public sealed partial class ContractCoverageTests
{
    private static readonly HashSet<string> s_statements = GetFirstColumn("tests/server-contract.md");
    private static readonly HashSet<string> s_differences = GetFirstColumn("docs/kestrel-differences.md");
    private static readonly HashSet<string> s_tested = GetTested();

    [Fact]
    public void Statements_Each_HasATestOrAStatedDifference()
    {
        Assert.NotEmpty(s_statements);
        Assert.Empty(s_statements.Except(s_tested).Except(s_differences));
    }

    [Fact]
    public void Ids_InTestsAndDifferences_AreOfStatements()
    {
        Assert.Empty(s_tested.Except(s_statements));
        Assert.Empty(s_differences.Except(s_statements));
    }

    [GeneratedRegex("""^\| (\w+) \|""", RegexOptions.Multiline)]
    private static partial Regex FirstColumn { get; }

    [GeneratedRegex("""\[(?:Contract\(|Trait\("Contract", )"(?<id>\w+)"(?:, "(?<id>\w+)")*\)\]""")]
    private static partial Regex Attribute { get; }

    private static HashSet<string> GetFirstColumn(string file)
        => [.. FirstColumn.Matches(File.ReadAllText(
            Repository.GetPath(file))).Select(static match => match.Groups[1].Value).Where(static id => id != "Id")];

    private static HashSet<string> GetTested()
        => [.. Directory.EnumerateFiles(Repository.GetPath("tests"), "*Tests.cs", SearchOption.AllDirectories)
            .SelectMany(static file => Attribute.Matches(File.ReadAllText(file)))
            .SelectMany(static match => match.Groups["id"].Captures)
            .Select(static id => id.Value)];
}
