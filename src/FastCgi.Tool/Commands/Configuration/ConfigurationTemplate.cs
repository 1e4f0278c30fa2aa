using System.Net.Sockets;
using System.Text.RegularExpressions;
using FastCgi.Client;

namespace FastCgi.Tool.Commands.Configuration;

/// <summary>An embedded block of a document, in which address, host and path are replaced.</summary>
internal sealed partial class ConfigurationTemplate
{
    public const string Systemd = "systemd";

    private const string DocumentedSocket = "/run/hello/app.sock";
    private const string DocumentedPort = "127.0.0.1:9000";
    private const string DocumentedUnit = "/run/app/app.sock";

    private readonly string _kind;
    private readonly string _text;

    private ConfigurationTemplate(string kind, string source, string text)
    {
        _kind = kind;
        Source = source;
        _text = text;
    }

    public static string[] Kinds => ["nginx", "apache", "lighttpd", "haproxy", "caddy", "h2o", Systemd];

    /// <summary>The document that it is from.</summary>
    public string Source { get; }

    public static ConfigurationTemplate Read(string kind, bool usesTls, bool isBehindBalancer)
    {
        if (kind == Systemd)
            return new ConfigurationTemplate(kind, "samples/systemd/app.service", ReadResource("app.service"));

        var heading = usesTls ? "Full configuration" : isBehindBalancer ? "Behind a load balancer" : "Smallest configuration";
        var page = ReadResource(kind + ".md");
        var block = FencedBlock().Match(page, page.IndexOf($"\n## {heading}\n", StringComparison.Ordinal));
        return new ConfigurationTemplate(kind, $"docs/front-ends/{kind}.md#{heading.ToLowerInvariant().Replace(' ', '-')}", block.Groups["text"].Value);
    }

    /// <summary>Replaces what the command line names.</summary>
    /// <returns><see langword="null"/> if the address does not fit.</returns>
    public string? TryFill(ConfigSettings settings)
    {
        var text = _text;
        if (settings.Name is { } name)
            text = text.Replace("hello.example.com", name, StringComparison.Ordinal);
        if (settings.PathBase is { } pathBase)
            text = DocumentedPathBase().Replace(text, pathBase);
        return settings.Address is { } address ? FillAddress(text, address) : text;
    }

    private string? FillAddress(string text, FastCgiAddress address)
    {
        var isUnix = address.EndPoint is UnixDomainSocketEndPoint;
        var plain = isUnix ? address.EndPoint.ToString()! : address.ToString()["fastcgi://".Length..];
        var colon = plain.LastIndexOf(':');
        var (host, port) = isUnix ? ("", "") : (plain[..colon], plain[(colon + 1)..]);
        if (_kind == Systemd)
            return isUnix ? FillUnit(text, plain) : FillUnitPort(text, address.ToString());
        if (isUnix)
            return text.Replace(DocumentedSocket, plain, StringComparison.Ordinal)
                .Replace("server app " + DocumentedPort, "server app unix@" + plain, StringComparison.Ordinal);
        return _kind switch
        {
            "nginx" => text.Replace("unix:" + DocumentedSocket, plain, StringComparison.Ordinal),
            "apache" => text.Replace($"unix:{DocumentedSocket}|fcgi://hello/", $"fcgi://{plain}/", StringComparison.Ordinal),
            "lighttpd" => text.Replace($"\"socket\" => \"{DocumentedSocket}\",", $"\"host\" => \"{host.Trim('[', ']')}\",\n    \"port\" => {port},",
                StringComparison.Ordinal),
            "haproxy" => text.Replace(DocumentedPort, plain, StringComparison.Ordinal),
            "caddy" => text.Replace("unix/" + DocumentedSocket, plain, StringComparison.Ordinal),
            _ => H2oSocket().Replace(text, match => $"{match.Groups["indent"].Value}host: {host.Trim('[', ']')}\n{match.Groups["indent"].Value}port: {port}\n"),
        };
    }

    private static string? FillUnit(string text, string path)
    {
        if (RuntimeSocket().Match(path) is not { Success: true } match)
            return null;
        return text.Replace(DocumentedUnit, path, StringComparison.Ordinal)
            .Replace("RuntimeDirectory=app\n", $"RuntimeDirectory={match.Groups["folder"].Value}\n", StringComparison.Ordinal);
    }

    /// <summary>A port has neither folder nor mode.</summary>
    private static string FillUnitPort(string text, string address)
        => UnitSocketLine().Replace(text, "").Replace("fastcgi_pass unix:" + DocumentedUnit, "fastcgi_pass " + address["fastcgi://".Length..],
            StringComparison.Ordinal).Replace("fastcgi://unix:" + DocumentedUnit, address, StringComparison.Ordinal);

    private static string ReadResource(string name)
    {
        using var reader = new StreamReader(typeof(ConfigurationTemplate).Assembly.GetManifestResourceStream(name) ?? throw new InvalidOperationException($"The tool lacks {name}."));
        return reader.ReadToEnd();
    }

    [GeneratedRegex(@"^```\w+\n(?<text>.*?)^```$", RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex FencedBlock();

    // Not that of /run/hello/app.sock.
    [GeneratedRegex(@"(?<!\w)/app(?![\w.])")]
    private static partial Regex DocumentedPathBase();

    [GeneratedRegex(@"(?<indent>[ ]+)port: /run/hello/app\.sock\n[ ]+type: unix\n")]
    private static partial Regex H2oSocket();

    [GeneratedRegex(@"\A/run/(?<folder>[^/]+)/[^/]+\z")]
    private static partial Regex RuntimeSocket();

    [GeneratedRegex(@"^(RuntimeDirectory=.*|Environment=FastCgi__Endpoints__Web__(Group|Mode)=.*)\n", RegexOptions.Multiline)]
    private static partial Regex UnitSocketLine();
}
