using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.FunctionalTests.FrontEnds;

/// <summary>A page of <c>docs/front-ends</c>: its first block is the smallest configuration, its second one the full one.</summary>
internal sealed partial class FrontEndDocument(string name)
{
    /// <summary>The host whose site the configurations are.</summary>
    public const string HostName = "hello.example.com";

    /// <summary>The whole page.</summary>
    public string Text { get; } = File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "Documents", name + ".md"));

    /// <summary>A configuration of the page, but for the port on which the web server listens.</summary>
    public string GetConfiguration(bool isFull, string port)
    {
        var blocks = FencedBlock().Matches(Text);
        if (blocks.Count != 2)
            throw new InvalidOperationException($"{name}.md has {blocks.Count} blocks and should have 2.");
        return ListeningPort().Replace(blocks[isFull ? 1 : 0].Groups["text"].Value, port);
    }

    [GeneratedRegex(@"^```\w+\n(?<text>.*?)^```$", RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex FencedBlock();

    [GeneratedRegex(@"\b(80|443)\b")]
    private static partial Regex ListeningPort();
}
