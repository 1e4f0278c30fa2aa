namespace FastCgi.AspNetCore.Testing;

/// <summary>
/// A block of code in a document, named by a comment before it, so that the tests run what a reader copies.
/// </summary>
public static class DocumentBlock
{
    private const string Fence = "```";

    public static async Task<string> ReadAsync(string document, string name)
    {
        var lines = await File.ReadAllLinesAsync(Path.Combine(AppContext.BaseDirectory, "Documents", document));
        var block = lines.SkipWhile(line => line != $"<!-- {name} -->").Skip(1).ToList();
        Assert.True(
            block.Count > 0 && block[0].StartsWith(Fence, StringComparison.Ordinal),
            $"{document} has no block named '{name}'.");
        return string.Join('\n', block.Skip(1).TakeWhile(static line => line != Fence));
    }

    /// <param name="replacements">Text in the block, and its replacement. Each text must be present.</param>
    public static async Task<string> ReadAsync(
        string document, string name, params (string Documented, string Actual)[] replacements)
    {
        return Replace(await ReadAsync(document, name), replacements);
    }

    /// <param name="path">A configuration in the repository.</param>
    /// <param name="replacements">Text in the file, and its replacement. Each text must be present.</param>
    public static async Task<string> ReadFileAsync(
        string path, params (string Documented, string Actual)[] replacements)
        => Replace(await File.ReadAllTextAsync(Repository.GetPath(path)), replacements);

    private static string Replace(string text, (string Documented, string Actual)[] replacements)
    {
        foreach (var (documented, actual) in replacements)
        {
            Assert.Contains(documented, text);
            text = text.Replace(documented, actual);
        }

        return text;
    }
}
