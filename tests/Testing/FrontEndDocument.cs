using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.Testing;

/// <summary>A page of <c>docs/front-ends</c>, with a configuration after each heading.</summary>
public sealed partial class FrontEndDocument(string name)
{
    /// <summary>The host whose site the configurations are.</summary>
    public const string HostName = "hello.example.com";

    public const string Smallest = "Minimal configuration";
    public const string Full = "Full configuration";
    public const string BehindBalancer = "Behind a load balancer";

    /// <summary>The whole page.</summary>
    public string Text { get; } = File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "Documents", name + ".md"));

    /// <summary>The address where a site with TLS redirects HTTP requests to HTTPS, on the same port.</summary>
    public const string HttpAddress = "127.0.0.2";

    /// <summary>The configuration after a heading, with the web server's port replaced.</summary>
    public string GetConfiguration(string heading, string port)
    {
        var start = Text.IndexOf($"\n## {heading}\n", StringComparison.Ordinal);
        var block = start < 0 ? null : FencedBlock().Match(Text, start);
        if (block is not { Success: true })
            throw new InvalidOperationException($"{name}.md has no block behind the heading '{heading}'.");
        var text = block.Groups["text"].Value;
        return heading == Full
            ? ListeningPort().Replace(HttpPort().Replace(text, $"{HttpAddress}:{port}"), port)
            : ListeningPort().Replace(text, port);
    }

    [GeneratedRegex(@"^```\w+\n(?<text>.*?)^```$", RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex FencedBlock();

    [GeneratedRegex(@"(?<!SERVER_PORT )\b(80|443)\b")]
    private static partial Regex ListeningPort();

    [GeneratedRegex(@"\*?:?\b80\b")]
    private static partial Regex HttpPort();
}
