namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A backend of lighttpd's <c>fastcgi.server</c>, <c>scgi.server</c> or <c>proxy.server</c>.</summary>
internal sealed class LighttpdPlace(Directive pass, string path, Directive backend, Directive root) : Place(pass)
{
    private static readonly Regex s_group = new(@"\((?:[^()\\]|\\.)*\)[?*+]?");
    private static readonly string[] s_rewrites = ["url.rewrite", "url.rewrite-once"];
    private static readonly string[] s_passes = ["fastcgi.server", "scgi.server", "proxy.server"];

    public override string Path => path;
    public override bool IsFastCgi => Pass.Is("fastcgi.server");
    public override bool UsesOtherProtocol => Pass.Is("scgi.server");
    public override bool IsWhole => !root.All.Any(static line => line.IsUnread);
    public override string Description => $"{path} to {Target}";
    public override IEnumerable<string> Targets => [Target];

    /// <summary>The limit of a request body, which is written in kilobytes; 0 for none.</summary>
    public long BodyLimit => (long)(Parse(Pass.Get("server.max-request-size")?.First) * 1024);

    public double ReadTimeout => Parse(this["read-timeout"]);

    public bool LacksModule => IsWhole && Visible("server.modules").ToList() is { Count: > 0 } modules
        && !modules.Exists(static list => list.All.Prepend(list).Any(static module => module.First == "mod_fastcgi"));

    /// <summary>Whether a script may check the names of headers.</summary>
    public bool HasScript => root.All.Any(static line => line.Name.StartsWith("magnet.", StringComparison.Ordinal));

    /// <summary>Whether a line sets the URL that the application sees.</summary>
    public bool SetsTarget => root.All.Any(static line
        => line.Name.StartsWith("setenv.", StringComparison.Ordinal) && line.Find("REQUEST_URI") is not null);

    /// <summary>The values of PATH_BASE, with the conditions on the URL and the start of its pattern.</summary>
    public IEnumerable<(string Where, string Value, string? Condition, string? Pattern)> PathBases =>
        from set in Visible("setenv.add-environment", "setenv.set-environment")
        where set.Find("PATH_BASE") is not null
        let url = set.Around.FirstOrDefault(static block
            => block.Name.StartsWith("$HTTP[\"url\"]", StringComparison.Ordinal))?.Name
        let pattern = url?.Split(' ') is [_, "=~" or "=^" or "==", var text, ..] ? text.TrimStart('^') : null
        select (set.Where, set.Find("PATH_BASE")!.First?.TrimEnd('/') ?? "", url, pattern);

    /// <summary>Lists of patterns with the URLs that replace them.</summary>
    public IEnumerable<Directive> Rewrites => Visible(s_rewrites);

    private string Address => this["socket"] is { } socket
        ? $"\"socket\" => \"{socket}\""
        : $"\"host\" => \"{Host}\", \"port\" => {this["port"]}";

    private string Host => this["host"] ?? "127.0.0.1";
    private string Target => this["socket"] switch
    {
        ['@', ..] socket => "unix:" + socket,
        { } socket => socket,
        _ => $"{Host}:{this["port"]}",
    };

    public string? this[string key] => backend.Find(key)?.First;

    public static IEnumerable<Place> Find(DoctorReport report, string file, string text)
    {
        var root = new LighttpdReader(report, file).Read(text);
        return from pass in root.All
               let kind = Array.IndexOf(s_passes, pass.Name)
               where kind >= 0
               orderby kind
               from prefix in pass.Block
               from backend in prefix.Block
               where backend.Find("mode", "authorizer") is null
               select new LighttpdPlace(pass, prefix.Name.Length > 0 ? prefix.Name : "/", backend, root);
    }

    /// <summary>Whether a rewrite changes at most the prefix that leads to the application.</summary>
    public bool KeepsPath(Directive rule)
    {
        var group = 0;
        var kept = s_group.Replace(rule.Name.TrimStart('^').TrimEnd('$'), _ => $"${++group}").Replace("\\", "");
        var target = rule.First ?? "";
        return target == kept || (target.StartsWith(path, StringComparison.Ordinal) && target[path.Length..] is var rest
            && (rest == kept || rest == "/" + kept || rest is "$0"));
    }

    public override string? GetWord(string name) => name == "address" ? Address : base.GetWord(name);

    /// <summary>The lines with these names, name by name.</summary>
    public IEnumerable<Directive> Visible(params string[] names)
        => names.SelectMany(name => root.All.Where(line => line.Is(name)));

    private static double Parse(string? text)
        => double.TryParse(text, CultureInfo.InvariantCulture, out var number) ? number : 0;
}
