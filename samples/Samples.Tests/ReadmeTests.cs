using System.Diagnostics;
using System.Text.RegularExpressions;

namespace Samples.Tests;

/// <summary>
/// Each sample of <c>samples/README.md</c> is started by its command, and the other commands print what is below them.
/// </summary>
public sealed partial class ReadmeTests
{
    private const string Start = "samples/run.sh ";

    private static readonly Dictionary<string, string> s_blocks = ConsoleBlock()
        .Matches(File.ReadAllText($"{Repository.Root}/samples/README.md"))
        .Select(static match => match.Groups["text"].Value)
        .ToDictionary(
            static text => text[..text.IndexOf('\n', StringComparison.Ordinal)]
                .Replace("$ " + Start, "", StringComparison.Ordinal));

    public static TheoryData<string> Samples => [.. s_blocks.Keys];

    [Theory, MemberData(nameof(Samples))]
    public async Task Commands_PrintWhatTheReadmeSays(string sample)
    {
        await using var process = await Sample.StartAsync(sample.Split(' '));
        Programs.Require("curl");

        foreach (Match match in Command().Matches(s_blocks[sample]).Skip(1))
        {
            var command = match.Groups["command"].Value.Replace("8080", $"{process.Port}", StringComparison.Ordinal);
            var expected = match.Groups["output"].Value.TrimEnd('\n')
                .Replace("8080", $"{process.Port}", StringComparison.Ordinal);
            Assert.Matches(
                $@"\A{Regex.Escape(expected).Replace("…", ".*", StringComparison.Ordinal)}\z", await RunAsync(command));
        }

        process.AssertNothingIsWrong();
    }

    /// <summary>A sample that the list forgets is not run.</summary>
    [Fact]
    public void Samples_All_AreInTheReadme()
    {
        var folders = Directory.GetDirectories($"{Repository.Root}/samples")
            .Where(static folder => Directory.GetFiles(folder, "*.*proj").Length > 0)
            .Select(static folder => Path.GetFileName(folder))
            .Where(static name => !name.StartsWith("TestedApp", StringComparison.Ordinal) && name != "Samples.Tests");

        Assert.Empty(folders.Except(s_blocks.Keys.Select(static sample => sample.Split(' ')[0])));
    }

    /// <summary>At most a page of code: a reader sees all of it.</summary>
    [Fact]
    public void Samples_All_FitOnAPage()
    {
        var files = s_blocks.Keys.Select(static sample => $"{Repository.Root}/samples/{sample.Split(' ')[0]}/")
            .Where(Directory.Exists)
            .SelectMany(static folder => Directory.GetFiles(folder, "Program.?s"));

        Assert.All(files, static file => Assert.InRange(File.ReadLines(file).Count(), 1, 80));
    }

    private static async Task<string> RunAsync(string command)
    {
        using var process = Process.Start(
            new ProcessStartInfo("bash", ["-c", command])
            {
                WorkingDirectory = Repository.Root,
                RedirectStandardOutput = true,
            })!;
        var output = await process.StandardOutput.ReadToEndAsync().Within(command);
        await process.WaitForExitAsync().Within(command);
        // JSON does not end its line.
        return output.TrimEnd('\n');
    }

    [GeneratedRegex(@"^```console\n(?<text>\$ samples/run\.sh .*?)^```$", RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex ConsoleBlock();

    [GeneratedRegex(@"^\$ (?<command>([^\n]*\\\n)*[^\n]*\n)(?<output>.*?)(?=^\$ |\z)", RegexOptions.Multiline | RegexOptions.Singleline | RegexOptions.ExplicitCapture)]
    private static partial Regex Command();
}
