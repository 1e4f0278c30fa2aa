namespace FastCgi.AspNetCore.UnitTests;

/// <summary>
/// The public surface is what <c>PublicApi.txt</c> says. A change of it is a decision: look at the difference that this test
/// prints, and if it is meant, copy the file that it has written over the old one.
/// </summary>
public sealed class PublicApiTests
{
    [Fact]
    public void PublicMembers_AreThoseOfTheFile()
    {
        const string Snapshot = "tests/FastCgi.AspNetCore.UnitTests/PublicApi.txt";
        var written = Path.Combine(AppContext.BaseDirectory, "PublicApi.txt");
        var expected = File.ReadAllLines(Repository.GetPath(Snapshot));
        var actual = PublicApi.Describe(typeof(FastCgiServerOptions).Assembly).ToArray();
        File.WriteAllLines(written, actual);

        var differences = Difference(expected, actual, "- ").Concat(Difference(actual, expected, "+ ")).ToArray();
        Assert.True(
            differences.Length == 0,
            $"{Snapshot} and the public members differ; {written} has them as they are now:\n{string.Join('\n', differences)}");
        Assert.Equal(expected, actual);
    }

    /// <summary>The members, each with its type, that only the first has.</summary>
    private static IEnumerable<string> Difference(string[] lines, string[] others, string sign)
        => Qualify(lines).Except(Qualify(others)).Select(line => sign + line);

    private static IEnumerable<string> Qualify(string[] lines)
    {
        var type = "";
        foreach (var line in lines)
        {
            var isMember = line.StartsWith(' ');
            if (!isMember)
                type = line;
            yield return isMember ? $"{type} {{ {line.Trim()} }}" : line;
        }
    }
}
