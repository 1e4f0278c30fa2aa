namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A backend of lighttpd's <c>fastcgi.server</c> or <c>proxy.server</c>.</summary>
internal sealed class LighttpdPlace(Directive pass, string path, Directive backend, Directive root) : Place(pass)
{
    private static readonly Rule<LighttpdPlace>[] s_rules =
    [
        new("lighttpd.module-missing", static place => place.LacksModule ? [new(place.Where, "mod_fastcgi is not in server.modules")] : []),
        new("lighttpd.check-local", static place => place["check-local"] == "disable" ? []
            : [new(place.Where, $"{place.Path} has no \"check-local\" => \"disable\"")]),
        new("lighttpd.streaming-held", static place => place.Pass.Get("server.stream-response-body") is var set && set?.First is null or "0"
            ? [new(set?.Where ?? place.Where, "server.stream-response-body is 0, the default")] : []),
        new("lighttpd.body-size", static place => place.BodyLimit is (var where, var text, > 0 and < UsualBody) ? [new(where, text)] : []),
        new("lighttpd.read-timeout", static place => place.ReadTimeout is > 0 and < LongestPoll and var seconds
            ? [new(place.Where, Invariant($"read-timeout is {seconds} s"))] : []),
        new("lighttpd.keys-not-shared", static place => place["bin-path"] is not null && place["max-procs"] != "1"
            ? [new(place.Where, "lighttpd starts several processes, because there is no \"max-procs\" => 1")] : []),
        new("lighttpd.path-base.other", static place => place.PathBases
            .Where(static set => set.Pattern is { } pattern && !pattern.StartsWith(set.Value, StringComparison.Ordinal))
            .Select(static set => new Seen(set.Where, $"{set.Condition} passes PATH_BASE {set.Value}",
                $"setenv.add-environment = (\"PATH_BASE\" => \"{set.Pattern!.Split('(', '$')[0].TrimEnd('/')}\")"))),
        new("lighttpd.path-base.always", static place => place.PathBases
            .Where(set => set is { Condition: null, Value.Length: > 0 } && place.Path.TrimEnd('/') != set.Value)
            .Select(static set => new Seen(set.Where, $"PATH_BASE {set.Value} is passed with each request", CreateCondition(set.Value)))),
        new("lighttpd.path-base.missing", static place => !place.PathBases.Any() && place.Path.TrimEnd('/') is ['/', ..] path
            ? [LacksPathBase(place.Where, $"no PATH_BASE is passed for {path}", path, CreateCondition(path))] : []),
    ];

    public override string Path => path;

    public override bool IsFastCgi => Pass.Is("fastcgi.server");

    public override string Description => $"{path} to {Target}";
    public override IEnumerable<string> Targets => [Target];

    /// <summary>The limit of a request body, which is written in kilobytes; 0 for none.</summary>
    private (string, string, long)? BodyLimit => Pass.Get("server.max-request-size") is { } limit
        && long.TryParse(limit.First, CultureInfo.InvariantCulture, out var size) ? (limit.Where, limit.Text, size << 10) : null;

    private double ReadTimeout => double.TryParse(this["read-timeout"], CultureInfo.InvariantCulture, out var seconds) ? seconds : 0;

    public override (string, string?, string) HttpMistake => ($"proxy.server to {Target}, but the application there speaks FastCGI", null,
        $"fastcgi.server = (\"{path}\" => (({Address}, \"check-local\" => \"disable\")))");

    private string Address => this["socket"] is { } socket ? $"\"socket\" => \"{socket}\"" : $"\"host\" => \"{Host}\", \"port\" => {this["port"]}";
    private string Host => this["host"] ?? "127.0.0.1";
    private string Target => this["socket"] ?? $"{Host}:{this["port"]}";

    private bool LacksModule => root.All.Where(static inner => inner.Is("server.modules")).ToList() is { Count: > 0 } modules
        && !modules.SelectMany(static list => list.All.Prepend(list)).Any(static module => module.First == "mod_fastcgi");

    /// <summary>The values of PATH_BASE, with the conditions on the URL and the beginning of its pattern.</summary>
    private IEnumerable<(string Where, string Value, string? Condition, string? Pattern)> PathBases =>
        from set in root.All
        where (set.Is("setenv.add-environment") || set.Is("setenv.set-environment")) && set.Find("PATH_BASE") is not null
        let url = set.Around.FirstOrDefault(static block => block.Name.StartsWith("$HTTP[\"url\"]", StringComparison.Ordinal))?.Name
        let pattern = url?.Split(' ') is [_, "=~" or "=^" or "==", var text, ..] ? text.TrimStart('^') : null
        select (set.Where, set.Find("PATH_BASE")!.First?.TrimEnd('/') ?? "", url, pattern);

    private string? this[string key] => backend.Find(key)?.First;

    public static IEnumerable<Place> Find(DoctorReport report, string file, string text)
    {
        var root = new LighttpdReader(report, file).Read(text);
        return from pass in root.All
               where pass.Is("fastcgi.server") || pass.Is("proxy.server")
               orderby pass.Is("proxy.server")
               from prefix in pass.Block
               from backend in prefix.Block
               where backend.Find("mode", "authorizer") is null
               select new LighttpdPlace(pass, prefix.Name.Length > 0 ? prefix.Name : "/", backend, root);
    }

    public override void Apply(DoctorReport report) => report.Apply(s_rules, this);

    private static string CreateCondition(string path)
        => $"$HTTP[\"url\"] =~ \"^{path}(/|$)\" {{\n    setenv.add-environment = (\"PATH_BASE\" => \"{path}\")\n}}";
}
