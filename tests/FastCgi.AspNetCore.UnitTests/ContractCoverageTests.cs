namespace FastCgi.AspNetCore.UnitTests;

/// <summary>Each statement of <c>tests/server-contract.md</c> has a test, or is marked as a difference.</summary>
public sealed partial class ContractCoverageTests
{
    private static readonly string s_contract = File.ReadAllText(Repository.GetPath("tests/server-contract.md"));
    private static readonly HashSet<string> s_statements = GetIds(Statement);
    private static readonly HashSet<string> s_differences = GetIds(Difference);
    private static readonly HashSet<string> s_tested = GetTested();

    [Fact]
    public void Statements_Each_HasATestOrAStatedDifference()
    {
        Assert.NotEmpty(s_statements);
        Assert.Empty(s_statements.Except(s_tested).Except(s_differences));
    }

    [Fact]
    public void Ids_InTests_AreOfStatements() => Assert.Empty(s_tested.Except(s_statements));

    [GeneratedRegex("""^\| (\w+) \|""", RegexOptions.Multiline)]
    private static partial Regex Statement { get; }

    [GeneratedRegex("""^\| (\w+) \| .* \(differs\) \|$""", RegexOptions.Multiline)]
    private static partial Regex Difference { get; }

    [GeneratedRegex("""\[(?:Contract\(|Trait\("Contract", )"(?<id>\w+)"(?:, "(?<id>\w+)")*\)\]""")]
    private static partial Regex Attribute { get; }

    private static HashSet<string> GetIds(Regex row)
        => [.. row.Matches(s_contract).Select(static match => match.Groups[1].Value).Where(static id => id != "Id")];

    private static HashSet<string> GetTested()
        => [.. Directory.EnumerateFiles(Repository.GetPath("tests"), "*Tests.cs", SearchOption.AllDirectories)
            .SelectMany(static file => Attribute.Matches(File.ReadAllText(file)))
            .SelectMany(static match => match.Groups["id"].Captures)
            .Select(static id => id.Value)];
}
