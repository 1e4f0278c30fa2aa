namespace FastCgi.AspNetCore.FunctionalTests.Documented;

/// <summary>
/// The configuration files that the documents show. Each stands in a code block below a comment with its name, and is run as it is, but
/// for addresses and folders, which are those of the test.
/// </summary>
internal static class DocumentedConfiguration
{
    /// <summary>Reads a configuration.</summary>
    /// <param name="document">The document in the folder <c>docs</c>.</param>
    /// <param name="name">What stands in the comment.</param>
    /// <param name="replacements">What stands in the configuration, and what takes its place. Each must be there.</param>
    public static string Read(string document, string name, params (string Documented, string Actual)[] replacements)
    {
        var lines = File.ReadAllLines(Path.Combine(AppContext.BaseDirectory, "Documents", document));
        var comment = Array.IndexOf(lines, $"<!-- {name} -->");
        Assert.True(comment >= 0, $"{document} has no {name}.");

        var configuration = string.Join('\n', lines.Skip(comment + 2).TakeWhile(static line => line != "```")) + "\n";
        foreach (var (documented, actual) in replacements)
        {
            Assert.Contains(documented, configuration, StringComparison.Ordinal);
            configuration = configuration.Replace(documented, actual, StringComparison.Ordinal);
        }

        return configuration;
    }
}
