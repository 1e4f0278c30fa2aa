using System.Globalization;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A block with <c>fastcgi_pass</c> or <c>proxy_pass</c>, and the blocks around it, the outermost first.</summary>
internal sealed class NginxPlace(NginxDirective pass, IReadOnlyList<List<NginxDirective>> levels, NginxDirective? location, NginxDirective? server,
    NginxServers servers)
{
    private static readonly string[] s_checks = ["auth_basic", "auth_request", "auth_jwt"];

    public NginxDirective Pass { get; } = pass;

    public NginxDirective? Server { get; } = server;

    /// <summary>The arguments of the innermost location, such as <c>~ \.php$</c>.</summary>
    public string[] Location { get; } = location?.Arguments ?? [];

    /// <summary>The path of a location that is a prefix.</summary>
    public string? Prefix => Location is [_] or ["^~", _] ? Location[^1] : null;

    public bool IsForScripts => Location is [['~', ..], var pattern] && pattern.Contains("\\.", StringComparison.Ordinal);

    /// <summary>The parameters in effect: those of the innermost block that has any.</summary>
    public IReadOnlyList<NginxDirective> Parameters { get; } =
        levels.Select(static level => level.Where(static directive => directive.Name == "fastcgi_param").ToList())
            .LastOrDefault(static list => list.Count > 0) ?? [];

    /// <summary>A parameter of an outer block, which those of an inner block disable.</summary>
    public NginxDirective? Disabled
        => levels.SelectMany(static level => level).FirstOrDefault(directive => directive is { Name: "fastcgi_param", First: "REQUEST_METHOD" }
            && !Parameters.Contains(directive));

    public bool LacksParameters => GetParameter("REQUEST_METHOD").Count == 0;

    public string? PathBase => Set("PATH_BASE")?.Arguments[1];

    /// <summary>The directives of the innermost block.</summary>
    public IReadOnlyList<NginxDirective> Own => levels[^1];

    /// <summary>The directive that listens for TLS.</summary>
    public NginxDirective? Tls => GetAll("listen").FirstOrDefault(IsTls);

    public bool ChecksUsers => s_checks.Any(check => Get(check) is { First: not "off" }) || Get("ssl_verify_client") is { First: "on" };

    /// <summary>The upstream that the requests are passed to.</summary>
    public NginxDirective? Upstream => servers.Upstreams.GetValueOrDefault(Pass.First!);

    public NginxDirective? Keepalive => Upstream?.Block!.LastOrDefault(static directive => directive.Name == "keepalive");

    /// <summary>How many places of the server pass requests on.</summary>
    public int Passes => Server is null ? 0 : Count(Server);

    public static bool IsTls(NginxDirective listen) => listen.Arguments.Contains("ssl") || listen.Arguments.Contains("quic");

    /// <returns>0 for a socket.</returns>
    public static int GetPort(NginxDirective listen)
    {
        var text = listen.First ?? "";
        return int.TryParse(text[(text.LastIndexOf(':') + 1)..], NumberStyles.None, CultureInfo.InvariantCulture, out var port) ? port
            : text.StartsWith("unix:", StringComparison.Ordinal) ? 0 : 80;
    }

    /// <summary>All places with a directive.</summary>
    public static IEnumerable<NginxPlace> Find(List<NginxDirective> root, string passName, NginxServers servers) => Find([root], passName, null, null, servers);

    /// <summary>The directive in effect here.</summary>
    public NginxDirective? Get(string name)
        => levels.Select(level => level.LastOrDefault(directive => directive.Name == name)).LastOrDefault(static directive => directive is not null);

    /// <summary>All directives of a name, in this block and in those around it.</summary>
    public IEnumerable<NginxDirective> GetAll(string name) => levels.SelectMany(static level => level).Where(directive => directive.Name == name);

    /// <summary>The values of a parameter.</summary>
    public IReadOnlyList<string> GetParameter(string name)
        => [.. Parameters.Where(parameter => parameter.First == name && parameter.Arguments.Length > 1).Select(static parameter => parameter.Arguments[1])];

    /// <summary>The last line that sets a parameter.</summary>
    public NginxDirective? Set(string name) => Parameters.LastOrDefault(parameter => parameter.First == name && parameter.Arguments.Length > 1);

    /// <summary>Matches if a parameter is not passed, although others are.</summary>
    public IEnumerable<Seen> Missing(string name) => LacksParameters || GetParameter(name).Count > 0 ? [] : [new(Pass.Where, $"{name} is not passed")];

    /// <summary>Matches if a directive has this value.</summary>
    public IEnumerable<Seen> IfSet(string name, string value) => Get(name) is { } directive && directive.First == value
        ? [new(directive.Where, directive.Text)] : [];

    /// <summary>An earlier server with the same name and port.</summary>
    public (string Name, NginxDirective Other)? FindDuplicate()
    {
        if (Server is not { } own)
            return null;

        var ends = Describe(own).ToHashSet();
        foreach (var other in servers.All.TakeWhile(other => !ReferenceEquals(other, own)))
        {
            if (Describe(other).FirstOrDefault(ends.Contains) is { Name: not null } same)
                return (same.Name, other);
        }

        return null;
    }

    /// <summary>A size in bytes, such as <c>16k</c>.</summary>
    public long GetSize(string name, long usual)
    {
        var text = Get(name)?.First ?? "";
        var unit = text.Length == 0 ? '\0' : char.ToLowerInvariant(text[^1]);
        var factor = unit switch { 'k' => 1L << 10, 'm' => 1L << 20, 'g' => 1L << 30, _ => 1L };
        return long.TryParse(factor == 1 ? text : text[..^1], NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number * factor : usual;
    }

    /// <summary>A time in seconds, such as <c>2m</c>.</summary>
    public double GetSeconds(string name, double usual)
    {
        var text = Get(name)?.First ?? "";
        var digits = text.TrimEnd('m', 's', 'h', 'd');
        var factor = text[digits.Length..] switch { "ms" => 0.001, "m" => 60d, "h" => 3600d, "d" => 86400d, _ => 1d };
        return double.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out var value) ? value * factor : usual;
    }

    private static int Count(NginxDirective block)
        => block.Block is null ? 0 : block.Block.Count(static directive => directive.Name is "fastcgi_pass" or "proxy_pass") + block.Block.Sum(Count);

    private static IEnumerable<(string Listen, string Name)> Describe(NginxDirective server)
    {
        var listens = server.Block!.Where(static directive => directive is { Name: "listen", First: not null })
            .Select(static listen => listen.First!).DefaultIfEmpty("80");
        var names = server.Block!.Where(static directive => directive.Name == "server_name")
            .SelectMany(static name => name.Arguments).DefaultIfEmpty("").ToList();
        return listens.SelectMany(listen => names.Select(name => (listen.Replace("*:", "", StringComparison.Ordinal)
            .Replace("0.0.0.0:", "", StringComparison.Ordinal), name)));
    }

    private static IEnumerable<NginxPlace> Find(List<List<NginxDirective>> levels, string passName, NginxDirective? location, NginxDirective? server,
        NginxServers servers)
    {
        foreach (var directive in levels[^1])
        {
            if (directive.Name == passName && directive.First is not null)
                yield return new NginxPlace(directive, [.. levels], location, server, servers);
            if (directive.Block is not { } block || directive.Name == "upstream")
                continue;

            var (inner, host) = (directive.Name == "location" ? directive : location, directive.Name == "server" ? directive : server);
            foreach (var place in Find([.. levels, block], passName, inner, host, servers))
                yield return place;
        }
    }
}

/// <summary>The servers and upstreams of a configuration.</summary>
internal sealed record NginxServers(List<NginxDirective> All, Dictionary<string, NginxDirective> Upstreams)
{
    public static NginxServers Create(List<NginxDirective> root)
    {
        var blocks = root.Concat(root.Where(static directive => directive is { Name: "http", Block: not null })
            .SelectMany(static http => http.Block!)).ToList();
        var upstreams = new Dictionary<string, NginxDirective>(StringComparer.Ordinal);
        foreach (var upstream in blocks.Where(static directive => directive is { Name: "upstream", First: not null, Block: not null }))
            upstreams[upstream.First!] = upstream;
        return new NginxServers([.. blocks.Where(static directive => directive is { Name: "server", Block: not null })], upstreams);
    }
}
