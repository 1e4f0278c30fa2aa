namespace FastCgi.Tool.Tests;

/// <summary>
/// The commands, arguments, and options match <c>CommandLine.txt</c>, because they are the public API of the tool. If a
/// change is intended, replace the old file with the one that this test has written.
/// </summary>
public sealed partial class CommandLineTests
{
    [Fact]
    public async Task CommandLine_EachCommand_EqualsTheFile()
    {
        var (_, help, _) = await ToolRun.RunAsync("--help");
        var lines = Read("fastcgi", help, "Options", "Commands").ToList();
        foreach (var command in Read("", help, "Commands").Select(static line => line.Split(' ')[1]))
            lines.AddRange(
                Read($"fastcgi {command}", (await ToolRun.RunAsync(command, "--help")).Out, "Arguments", "Options"));

        var written = Path.Combine(AppContext.BaseDirectory, "CommandLine.txt");
        await File.WriteAllLinesAsync(written, lines);
        var expected = await File.ReadAllLinesAsync(
            Path.Combine(AppContext.BaseDirectory, "Reviewed", "CommandLine.txt"));
        Assert.True(
            lines.SequenceEqual(expected),
            $"New: {string.Join("; ", lines.Except(expected))}. Gone: {string.Join("; ", expected.Except(lines))}. "
                + $"{written} has all of them.");
    }

    /// <summary>The first column of some lists in the help of a command.</summary>
    private static IEnumerable<string> Read(string command, string help, params string[] lists)
        => Section().Matches(help).Where(list => lists.Contains(list.Groups["name"].Value))
            .SelectMany(static list => list.Groups["row"].Captures).Select(
                row => $"{command}: {FirstColumn().Match(row.Value)}");

    [GeneratedRegex(@"^(?<name>\w+):\n((?<row>  \S.*)\n?|    .*\n?)+", RegexOptions.Multiline)]
    private static partial Regex Section();

    [GeneratedRegex(@"(?<=^  )\S+( \S+)*")]
    private static partial Regex FirstColumn();
}
