using System.Globalization;
using FastCgi.Client;
using FastCgi.Tool.Terminal;
using static FastCgi.Tool.Commands.Doctor.UsualLimits;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Looks at each place of a configuration of lighttpd that passes requests to FastCGI.</summary>
internal sealed class LighttpdInspector(DoctorReport report, AddressInspector addresses)
{
    private const string Page = "front-ends/lighttpd.md";

    private List<LighttpdDirective> _all = [];

    /// <exception cref="ToolException">Nothing in it passes requests on.</exception>
    public async Task InspectAsync(List<LighttpdDirective> directives, CancellationToken cancellationToken)
    {
        _all = directives;
        var places = Find("fastcgi.server");
        var proxies = Find("proxy.server");
        if (places.Count == 0 && proxies.Count == 0)
            throw new ToolException(ExitCode.CannotRun, "The configuration has no fastcgi.server. Includes are followed, but not include_shell.");

        foreach (var place in places)
        {
            report.AddFact($"{place.Directive.Where}: {place.Path} to {place.Target}");
            InspectModule(place);
            InspectPlace(place);
            InspectPathBase(place);
            if (place.Address is { } address)
            {
                await addresses.InspectAsync(address, users: null, headBuffer: null, cancellationToken);
                if (await addresses.ReadStatusAsync(address, cancellationToken) is { } status)
                    Compare(place, new ApplicationLimits(status));
            }
        }

        foreach (var group in places.GroupBy(static place => (place.Directive, place.Path)).Where(static group => group.Count() > 1))
            addresses.InspectKeys(group.Key.Directive.Where, [.. group.Select(static place => place.Address).OfType<FastCgiAddress>()]);
        foreach (var proxy in proxies)
        {
            if (proxy.Address is { } address && await addresses.SpeaksFastCgiAsync(address, cancellationToken))
                report.AddProblem(DoctorRule.HttpToFastcgi, proxy.Directive.Where, $"proxy.server to {proxy.Target}, and what listens there speaks FastCGI", "the application answers 400, 'This port speaks FastCGI, not HTTP.'", $"fastcgi.server = (\"{proxy.Path}\" => (({proxy.Describe()}, \"check-local\" => \"disable\")))", Trouble + "#400-bad-request");
        }
    }

    private List<LighttpdPlace> Find(string name) =>
    [
        .. from directive in _all
           where directive.Name == name
           from path in directive.Value.Items
           from backend in path.Value.Items
           where backend.Value["mode"]?.Text != "authorizer"
           select new LighttpdPlace(directive, path.Key ?? "/", backend.Value),
    ];

    private void InspectModule(LighttpdPlace place)
    {
        var modules = _all.Where(static directive => directive.Name == "server.modules").ToList();
        if (modules.Count > 0 && !modules.SelectMany(static directive => directive.Value.Texts).Contains("mod_fastcgi", StringComparer.Ordinal))
            report.AddProblem(DoctorRule.ModuleMissing, place.Directive.Where, "mod_fastcgi is not in server.modules", "lighttpd passes nothing to the application: 404 or 403", "server.modules += (\"mod_fastcgi\")", Page + "#smallest-configuration");
    }

    private void InspectPlace(LighttpdPlace place)
    {
        var where = place.Directive.Where;
        if (place.Backend["check-local"]?.Text != "disable")
            report.AddProblem(DoctorRule.CheckLocal, where, $"{place.Path} has no \"check-local\" => \"disable\"", "lighttpd answers 404 to each path that is no file of its own", "\"check-local\" => \"disable\"", Trouble + "#404-not-found");
        if (Get(place, "server.stream-response-body")?.Value.Text is null or "0")
            report.AddProblem(DoctorRule.StreamingHeld, Get(place, "server.stream-response-body")?.Where ?? where, "server.stream-response-body is 0, the default", "server-sent events come when the response is complete", "server.stream-response-body = 1", Trouble + "#late-events");
        if (ReadBodyLimit(place) is { } limit and > 0 and < BodyLimit)
            report.AddNote(DoctorRule.BodySize, Get(place, "server.max-request-size")!.Where, string.Create(CultureInfo.InvariantCulture, $"server.max-request-size {limit >> 10}"), "uploads of more are a 413, though the application takes 30,000,000 bytes", "server.max-request-size = 30000", Trouble + "#413-content-too-large");
        if (ReadTimeout(place) is > 0 and < LongestPoll and var seconds)
            report.AddNote(DoctorRule.ReadTimeout, where, string.Create(CultureInfo.InvariantCulture, $"read-timeout is {seconds} s"), "answers that are silent for longer are a 504; the long polls of Blazor and SignalR last up to 90 seconds", "\"read-timeout\" => 120", Trouble + "#504-gateway-timeout");
        if (place.Backend["bin-path"] is not null && place.Backend["max-procs"]?.Text != "1")
            report.AddNote(DoctorRule.KeysNotShared, where, "lighttpd starts the application several times, because there is no \"max-procs\" => 1", "unless the application names a folder for its keys, a login or form of one process may be refused by the others", "\"max-procs\" => 1", Trouble + "#ephemeral-key-repository");
    }

    private void InspectPathBase(LighttpdPlace place)
    {
        var sets = _all.Where(static directive => directive.Name is "setenv.add-environment" or "setenv.set-environment" && directive.Value["PATH_BASE"] is not null).ToList();
        foreach (var set in sets)
        {
            var value = set.Value["PATH_BASE"]!.Text ?? "";
            var url = set.Conditions.LastOrDefault(static condition => condition.StartsWith("$HTTP[\"url\"]", StringComparison.Ordinal));
            var (begins, line) = url?.Split(' ') is [_, "=~" or "=^" or "==", var pattern, ..] ? (pattern.TrimStart('^'), $"setenv.add-environment = (\"PATH_BASE\" => \"{pattern.TrimStart('^').Split('(', '$')[0].TrimEnd('/')}\")") : (null, "");
            if (begins is not null && !begins.StartsWith(value.TrimEnd('/'), StringComparison.Ordinal))
                report.AddProblem(DoctorRule.PathBase, set.Where, $"{url} passes PATH_BASE {value}", "the path base is not that of the condition: 404", line, Trouble + "#404-not-found");
            else if (url is null && value.Trim('/').Length > 0 && place.Path.TrimEnd('/') != value.TrimEnd('/'))
                report.AddNote(DoctorRule.PathBase, set.Where, $"PATH_BASE {value} is passed with each request", "paths that do not begin with it are a 404", $"$HTTP[\"url\"] =~ \"^{value.TrimEnd('/')}(/|$)\" {{\n    setenv.add-environment = (\"PATH_BASE\" => \"{value.TrimEnd('/')}\")\n}}", Trouble + "#404-not-found");
        }

        if (sets.Count == 0 && place.Path.TrimEnd('/') is ['/', ..] path)
            report.AddNote(DoctorRule.PathBase, place.Directive.Where, $"no PATH_BASE is passed for {path}", $"the application sees paths that begin with {path}: 404, unless it has that path base or such paths itself", $"$HTTP[\"url\"] =~ \"^{path}(/|$)\" {{\n    setenv.add-environment = (\"PATH_BASE\" => \"{path}\")\n}}", Trouble + "#404-not-found");
    }

    private void Compare(LighttpdPlace place, ApplicationLimits limits)
    {
        if (ReadBodyLimit(place) is { } size)
            limits.CompareBodies(report, Get(place, "server.max-request-size")!.Where, string.Create(CultureInfo.InvariantCulture, $"server.max-request-size {size >> 10}"), size);
        limits.CompareTimes(report, place.Directive.Where, "read-timeout", ReadTimeout(place));
    }

    /// <summary>In bytes; it is written in kilobytes.</summary>
    private long? ReadBodyLimit(LighttpdPlace place)
        => long.TryParse(Get(place, "server.max-request-size")?.Value.Text, CultureInfo.InvariantCulture, out var limit) ? limit << 10 : null;

    private static double ReadTimeout(LighttpdPlace place) => double.TryParse(place.Backend["read-timeout"]?.Text, CultureInfo.InvariantCulture, out var seconds) ? seconds : 0;

    /// <summary>The line that counts: the last of those without conditions, or with conditions that the place has too.</summary>
    private LighttpdDirective? Get(LighttpdPlace place, string name)
        => _all.LastOrDefault(directive => directive.Name == name && directive.Conditions.All(place.Directive.Conditions.Contains));
}

/// <summary>A backend.</summary>
internal sealed record LighttpdPlace(LighttpdDirective Directive, string Path, LighttpdValue Backend)
{
    public string Target => Backend["socket"]?.Text ?? $"{Backend["host"]?.Text ?? "127.0.0.1"}:{Backend["port"]?.Text}";

    public FastCgiAddress? Address => FastCgiAddress.TryParse(Target, out var address) ? address : null;

    public string Describe() => Backend["socket"]?.Text is { } socket ? $"\"socket\" => \"{socket}\"" : $"\"host\" => \"{Backend["host"]?.Text ?? "127.0.0.1"}\", \"port\" => {Backend["port"]?.Text}";
}
