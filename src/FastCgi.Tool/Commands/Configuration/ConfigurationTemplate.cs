namespace FastCgi.Tool.Commands.Configuration;

/// <summary>An embedded block of a document, in which address, names, and path are replaced.</summary>
internal sealed record ConfigurationTemplate(string Kind, string Source, string Text)
{
    private static readonly Regex s_fencedBlock =
        new(@"^```\w+\n(?<text>.*?)^```$", RegexOptions.Multiline | RegexOptions.Singleline);
    // Not the name in /run/hello/app.sock.
    private static readonly Regex s_documentedPathBase = new(@"(?<!\w)/app(?![\w.])");
    // Not the folder of the socket.
    private static readonly Regex s_documentedName = new(@"(?<!/run/)\bhello\b(\.example\.com)?");
    private static readonly Regex s_clientCertificates = new(
        @"^.*(ssl_client_|ssl_verify_client|SSLCACertificate|SSLVerify|SSLOptions|ssl\.verifyclient|SSL_CLIENT).*\n"
            + @"| ca-file \S+ verify optional|(?<=tls \S+ \S+) \{\s+client_auth \{[^}]*\}\s+\}",
        RegexOptions.Multiline);
    private static readonly Regex s_runtimeSocket = new(@"\A/run/(?<folder>[a-z_][a-z0-9_-]*)/[^/]+\z");
    private static readonly Regex s_unitName = new(@"\bapp\b(?!\.sock)");
    private static readonly Regex s_unitSocketLine =
        new(@"^(RuntimeDirectory=.*|Environment=FastCgi__Endpoints__Web__(Group|Mode)=.*)\n", RegexOptions.Multiline);

    private static readonly (string Kind, Version Since, string Old, string Current)[] s_replacedDirectives =
    [
        ("nginx", new(1, 25, 1), @"( *)(listen .*) http2;", "$1$2;\n$1http2 on;"),
        ("caddy", new(2, 7), @"\{args\.(\d)\}", "{args[$1]}"),
        ("caddy", new(2, 8), "trusted_ca_cert_file (.*)", "trust_pool file $1"),
    ];

    public const string Systemd = "systemd";
    private const string DocumentedSocket = "/run/hello/app.sock";
    private const string DocumentedPort = "127.0.0.1:9000";

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

    /// <summary>Without the lines that need an authority for client certificates.</summary>
    public ConfigurationTemplate WithoutClientCertificates()
        => this with { Text = s_clientCertificates.Replace(Text, "") };

    /// <summary>
    /// With the directives of a version. The documents have those that each version accepts, some with a warning.
    /// </summary>
    public ConfigurationTemplate For(Version? version)
    {
        var text = Text;
        foreach (var (kind, since, old, current) in s_replacedDirectives)
        {
            if (kind == Kind && version >= since)
                text = Regex.Replace(text, old, current);
        }

        return this with { Text = text };
    }

    /// <returns><see langword="null"/> if the address does not fit.</returns>
    public string? TryFill(FastCgiAddress? address, string? name, string? pathBase)
    {
        if (Kind == Systemd)
            return FillUnit(address, name);

        // Also the names of blocks, which are unique in a web server.
        var text = name is null ? Text : s_documentedName.Replace(Text, name);
        if (pathBase is not null)
            text = s_documentedPathBase.Replace(text, pathBase);
        return address is null ? text : FillAddress(text, address, name ?? "hello");
    }

    /// <summary>By default, the user and the folders have the name of the folder of the socket.</summary>
    private string? FillUnit(FastCgiAddress? address, string? name)
    {
        var folder = name ?? "app";
        if (address is { IsUnix: true })
            folder = s_runtimeSocket.Match(GetPlain(address)).Groups["folder"].Value;
        if (folder.Length == 0)
            return null;

        name ??= folder;
        var text = s_unitName.Replace(Text, name);
        var socket = $"unix:/run/{name}/app.sock";
        if (address is null)
            return text;

        // A port has neither folder nor mode.
        return address.IsUnix
            ? text.Replace(socket, "unix:" + GetPlain(address))
                .Replace($"RuntimeDirectory={name}\n", $"RuntimeDirectory={folder}\n")
            : s_unitSocketLine.Replace(text, "").Replace(socket, GetPlain(address));
    }

    private static string GetPlain(FastCgiAddress address)
        => address.IsUnix ? $"{address.EndPoint}" : address.ToString()["fastcgi://".Length..];

    private string FillAddress(string text, FastCgiAddress address, string name)
    {
        var plain = GetPlain(address);
        var colon = plain.LastIndexOf(':');
        var (host, port) = (plain[..Math.Max(colon, 0)].Trim('[', ']'), plain[(colon + 1)..]);
        return (Kind, address.IsUnix) switch
        {
            (_, true) => text.Replace(DocumentedSocket, plain)
                .Replace("server app " + DocumentedPort, "server app unix@" + plain),
            ("nginx", _) => text.Replace("unix:" + DocumentedSocket, plain),
            ("apache", _) => text.Replace($"unix:{DocumentedSocket}|fcgi://{name}/", $"fcgi://{plain}/"),
            ("lighttpd", _) => text.Replace($"\"socket\" => \"{DocumentedSocket}\",",
                $"\"host\" => \"{host}\",\n    \"port\" => {port},"),
            ("haproxy", _) => text.Replace(DocumentedPort, plain),
            _ => text.Replace("unix/" + DocumentedSocket, plain),
        };
    }
}
