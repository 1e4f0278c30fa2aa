namespace FastCgi.Tool.Commands.Configuration;

/// <summary>An embedded block of a document, in which address, host and path are replaced.</summary>
internal sealed record ConfigurationTemplate(string Kind, string Source, string Text)
{
    private static readonly Regex s_fencedBlock =
        new(@"^```\w+\n(?<text>.*?)^```$", RegexOptions.Multiline | RegexOptions.Singleline);
    // Not the name in /run/hello/app.sock.
    private static readonly Regex s_documentedPathBase = new(@"(?<!\w)/app(?![\w.])");
    private static readonly Regex s_runtimeSocket = new(@"\A/run/(?<folder>[^/]+)/[^/]+\z");
    private static readonly Regex s_unitSocketLine =
        new(@"^(RuntimeDirectory=.*|Environment=FastCgi__Endpoints__Web__(Group|Mode)=.*)\n", RegexOptions.Multiline);

    public const string Systemd = "systemd";
    private const string DocumentedSocket = "/run/hello/app.sock";
    private const string DocumentedPort = "127.0.0.1:9000";
    private const string DocumentedUnit = "/run/app/app.sock";

    public static string[] Kinds => ["nginx", "apache", "lighttpd", "haproxy", "caddy", Systemd];

    public static ConfigurationTemplate Read(string kind, bool usesTls, bool isBehindBalancer)
    {
        if (kind == Systemd)
            return new ConfigurationTemplate(
                kind, "samples/systemd/app.service", ToolCommand.ReadResource("app.service"));

        var heading = isBehindBalancer ? "Behind a load balancer" : "Minimal configuration";
        if (usesTls)
            heading = "Full configuration";
        var page = ToolCommand.ReadResource(kind + ".md");
        var block = s_fencedBlock.Match(page, page.IndexOf($"\n## {heading}\n", StringComparison.Ordinal));
        return new ConfigurationTemplate(kind,
            $"docs/front-ends/{kind}.md#{heading.ToLowerInvariant().Replace(' ', '-')}", block.Groups["text"].Value);
    }

    /// <returns><see langword="null"/> if the address does not fit.</returns>
    public string? TryFill(FastCgiAddress? address, string? name, string? pathBase)
    {
        var text = name is null ? Text : Text.Replace("hello.example.com", name);
        if (pathBase is not null)
            text = s_documentedPathBase.Replace(text, pathBase);
        return address is null ? text : FillAddress(text, address);
    }

    private string? FillAddress(string text, FastCgiAddress address)
    {
        var plain = address.IsUnix ? $"{address.EndPoint}" : address.ToString()["fastcgi://".Length..];
        var colon = plain.LastIndexOf(':');
        var (host, port) = (plain[..Math.Max(colon, 0)].Trim('[', ']'), plain[(colon + 1)..]);
        return (Kind, address.IsUnix) switch
        {
            (Systemd, true) => s_runtimeSocket.Match(plain).Groups["folder"] is { Success: true, Value: var folder }
                ? text.Replace(DocumentedUnit, plain).Replace("RuntimeDirectory=app\n", $"RuntimeDirectory={folder}\n")
                : null,
            // A port has neither folder nor mode.
            (Systemd, _) => s_unitSocketLine.Replace(text, "").Replace("unix:" + DocumentedUnit, plain),
            (_, true) => text.Replace(DocumentedSocket, plain)
                .Replace("server app " + DocumentedPort, "server app unix@" + plain),
            ("nginx", _) => text.Replace("unix:" + DocumentedSocket, plain),
            ("apache", _) => text.Replace($"unix:{DocumentedSocket}|fcgi://hello/", $"fcgi://{plain}/"),
            ("lighttpd", _) => text.Replace($"\"socket\" => \"{DocumentedSocket}\",",
                $"\"host\" => \"{host}\",\n    \"port\" => {port},"),
            ("haproxy", _) => text.Replace(DocumentedPort, plain),
            _ => text.Replace("unix/" + DocumentedSocket, plain),
        };
    }
}
