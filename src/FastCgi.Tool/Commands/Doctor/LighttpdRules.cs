using System.Globalization;
using FastCgi.Client;
using static FastCgi.Tool.Commands.Doctor.DoctorFinding;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>The rules for a backend of lighttpd's <c>fastcgi.server</c>.</summary>
internal static class LighttpdRules
{
    private const string Page = "front-ends/lighttpd.md";

    public static readonly Rule<LighttpdPlace>[] All =
    [
        new("module-missing", Problem, static place => place.LacksModule ? [new(place.Where, "mod_fastcgi is not in server.modules")] : [],
            "lighttpd passes nothing to the application: 404 or 403", "server.modules += (\"mod_fastcgi\")", Page + "#smallest-configuration"),
        new("check-local", Problem, static place => place.Backend["check-local"]?.Text == "disable" ? []
            : [new(place.Where, $"{place.Path} has no \"check-local\" => \"disable\"")],
            "lighttpd answers 404 to each path that is not a file", "\"check-local\" => \"disable\"", "#404-not-found"),
        new("streaming-held", Problem,
            static place => place.Get("server.stream-response-body") is var set && set?.Value.Text is null or "0"
                ? [new(set?.Where ?? place.Where, "server.stream-response-body is 0, the default")] : [],
            "server-sent events come when the response is complete", "server.stream-response-body = 1", "#late-events"),
        new("body-size", Note,
            static place => place.BodyLimit is > 0 and < UsualLimits.Body ? [new(place.Get("server.max-request-size")!.Where, place.DescribeBodyLimit())] : [],
            "larger uploads are a 413, although the application accepts 30,000,000 bytes", "server.max-request-size = 30000", "#413-content-too-large"),
        new("read-timeout", Note,
            static place => place.ReadTimeout is > 0 and < UsualLimits.LongestPoll and var seconds
                ? [new(place.Where, string.Create(CultureInfo.InvariantCulture, $"read-timeout is {seconds} s"))] : [],
            UsualLimits.ShortTimeout, "\"read-timeout\" => 120", "#504-gateway-timeout"),
        new("keys-not-shared", Note,
            static place => place.Backend["bin-path"] is not null && place.Backend["max-procs"]?.Text != "1"
                ? [new(place.Where, "lighttpd starts several processes, because there is no \"max-procs\" => 1")] : [],
            "unless the application names a folder for its keys, one process may refuse a login or form of another", "\"max-procs\" => 1",
                "#ephemeral-key-repository"),
        new("path-base", Problem,
            static place => place.PathBases.Where(static set => set.Pattern is { } pattern && !pattern.StartsWith(set.Value, StringComparison.Ordinal))
                .Select(static set => new Seen(set.Where, $"{set.Condition} passes PATH_BASE {set.Value}",
                    $"setenv.add-environment = (\"PATH_BASE\" => \"{set.Pattern!.Split('(', '$')[0].TrimEnd('/')}\")")),
            "the path base does not match the condition: 404", "", "#404-not-found"),
        new("path-base", Note,
            static place => place.PathBases.Where(set => set is { Condition: null, Value.Length: > 0 } && place.Path.TrimEnd('/') != set.Value)
                .Select(static set => new Seen(set.Where, $"PATH_BASE {set.Value} is passed with each request", CreateCondition(set.Value))),
            "paths that do not begin with it are a 404", "", "#404-not-found"),
        new("path-base", Note,
            static place => place.PathBases.Count == 0 && place.Path.TrimEnd('/') is ['/', ..] path
                ? [new(place.Where, $"no PATH_BASE is passed for {path}", CreateCondition(path),
                    $"the application sees paths that begin with {path}: 404, unless it expects them")]
                : [],
            "", "", "#404-not-found"),
    ];

    private static string CreateCondition(string path) => $"$HTTP[\"url\"] =~ \"^{path}(/|$)\" {{\n    setenv.add-environment = (\"PATH_BASE\" => \"{path}\")\n}}";
}

/// <summary>A backend.</summary>
internal sealed record LighttpdPlace(LighttpdDirective Directive, string Path, LighttpdValue Backend, List<LighttpdDirective> All)
{
    public string Where => Directive.Where;

    public string Target => Backend["socket"]?.Text ?? $"{Backend["host"]?.Text ?? "127.0.0.1"}:{Backend["port"]?.Text}";

    public FastCgiAddress? Address => FastCgiAddress.TryParse(Target, out var address) ? address : null;

    public bool LacksModule => All.Where(static directive => directive.Name == "server.modules").ToList() is { Count: > 0 } modules
        && !modules.SelectMany(static directive => directive.Value.Texts).Contains("mod_fastcgi", StringComparer.Ordinal);

    /// <summary>In bytes; it is written in kilobytes.</summary>
    public long? BodyLimit => long.TryParse(Get("server.max-request-size")?.Value.Text, CultureInfo.InvariantCulture, out var limit) ? limit << 10 : null;

    public double ReadTimeout => double.TryParse(Backend["read-timeout"]?.Text, CultureInfo.InvariantCulture, out var seconds) ? seconds : 0;

    /// <summary>The values of PATH_BASE, with the conditions on the URL and the beginning of its pattern.</summary>
    public IReadOnlyList<(string Where, string Value, string? Condition, string? Pattern)> PathBases =>
    [
        .. from directive in All
           where directive.Name is "setenv.add-environment" or "setenv.set-environment" && directive.Value["PATH_BASE"] is not null
           let url = directive.Conditions.LastOrDefault(static condition => condition.StartsWith("$HTTP[\"url\"]", StringComparison.Ordinal))
           let pattern = url?.Split(' ') is [_, "=~" or "=^" or "==", var text, ..] ? text.TrimStart('^') : null
           select (directive.Where, directive.Value["PATH_BASE"]!.Text?.TrimEnd('/') ?? "", url, pattern),
    ];

    /// <summary>The line in effect: the last one without conditions, or with conditions that the place has too.</summary>
    public LighttpdDirective? Get(string name)
        => All.LastOrDefault(directive => directive.Name == name && directive.Conditions.All(Directive.Conditions.Contains));

    public string DescribeBodyLimit() => string.Create(CultureInfo.InvariantCulture, $"server.max-request-size {BodyLimit >> 10}");

    public string Describe() => Backend["socket"]?.Text is { } socket
        ? $"\"socket\" => \"{socket}\""
        : $"\"host\" => \"{Backend["host"]?.Text ?? "127.0.0.1"}\", \"port\" => {Backend["port"]?.Text}";
}
