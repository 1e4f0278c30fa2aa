using System.Globalization;
using FastCgi.Client;
using FastCgi.Tool.Terminal;
using static FastCgi.Tool.Commands.Doctor.UsualLimits;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Looks at each backend of a configuration of HAProxy that passes requests to FastCGI.</summary>
internal sealed class HaProxyInspector(DoctorReport report, AddressInspector addresses)
{
    // Of a buffer, HAProxy keeps this for what it rewrites itself.
    private const int UsualBuffer = 16_384;
    private const int RewriteReserve = 1_024;
    private const string Page = "front-ends/haproxy.md";

    private List<HaProxySection> _all = [];

    /// <exception cref="ToolException">Nothing in it passes requests on.</exception>
    public async Task InspectAsync(List<HaProxySection> sections, CancellationToken cancellationToken)
    {
        _all = sections;
        var backends = _all.Where(static section => section.Kind is "backend" or "listen").ToList();
        var servers = backends.SelectMany(static backend => backend.Lines.Where(static line => line.Is("server") && line.Words.Length > 2).Select(line => new HaProxyServer(backend, line))).ToList();
        if (servers.Count == 0)
            throw new ToolException(ExitCode.CannotRun, "The configuration has no backend with a server. Each file of a folder that HAProxy reads is looked at by itself.");

        foreach (var backend in servers.Where(static server => server.IsFastCgi).Select(static server => server.Backend).Distinct())
        {
            InspectApplication(backend);
            InspectBackend(backend);
        }

        foreach (var server in servers)
            await InspectServerAsync(server, cancellationToken);
        foreach (var group in servers.Where(static server => server.IsFastCgi && !server.Line.Words.Contains("backup")).GroupBy(static server => server.Backend).Where(static group => group.Count() > 1))
            addresses.InspectKeys(group.Key.Where, [.. group.Select(static server => server.Address).OfType<FastCgiAddress>()]);
    }

    private async Task InspectServerAsync(HaProxyServer server, CancellationToken cancellationToken)
    {
        if (server.Address is not { } address)
            return;

        var where = server.Line.Where;
        var target = server.Line.Words[2];
        if (!server.IsFastCgi)
        {
            if (await addresses.SpeaksFastCgiAsync(address, cancellationToken))
                report.AddProblem(DoctorRule.HttpToFastcgi, where, $"{target} has no 'proto fcgi', and what listens there speaks FastCGI", "the application answers 400, 'This port speaks FastCGI, not HTTP.', or HAProxy 502", $"use-fcgi-app hello\nserver {server.Line.Words[1]} {target} proto fcgi", Trouble + "#400-bad-request");
            return;
        }

        report.AddFact($"{where}: {server.Backend.Kind} {server.Backend.Name} to {target}");
        if (target is ['/', ..] && FindGlobal("chroot") is { Words: [_, var folder, ..] } chroot)
        {
            report.AddProblem(
                DoctorRule.Chroot, where, $"HAProxy works in {folder} ({chroot.Where}), and takes {target} for {folder.TrimEnd('/')}{target}", "it does not reach the socket: 503",
                $"server {server.Line.Words[1]} 127.0.0.1:9000 proto fcgi", Trouble + "#permission-denied");
            return;
        }

        var users = FindGlobal("user") is { Words: [_, var user, ..] } && OperatingSystem.IsLinux() ? AddressInspector.FindAccounts([user]) : null;
        await addresses.InspectAsync(address, users is { Count: > 0 } ? users : null, GetHeadBuffer(), cancellationToken);
        if (await addresses.ReadStatusAsync(address, cancellationToken) is { } status && GetSeconds(server.Backend, "server") is { } seconds)
            new ApplicationLimits(status).CompareTimes(report, server.Backend.Get("timeout", "server")!.Where, "timeout server", seconds);
    }

    private HeadBuffer GetHeadBuffer()
    {
        var size = FindGlobal("tune.bufsize") is { Words: [_, var text, ..] } && int.TryParse(text, CultureInfo.InvariantCulture, out var value) ? value : UsualBuffer;
        return new HeadBuffer("HAProxy", size - RewriteReserve, "HAProxy answers 502", "tune.bufsize 32768");
    }

    private void InspectApplication(HaProxySection backend)
    {
        if (backend.Get("use-fcgi-app") is not { Words: [_, var name, ..] } || _all.FirstOrDefault(section => section.Kind == "fcgi-app" && section.Name == name) is not { } app)
            return;

        if (app.Get("pass-header", "Authorization") is null)
            report.AddProblem(DoctorRule.AuthorizationDropped, app.Where, $"fcgi-app {name} has no 'pass-header Authorization'", "the application never sees Authorization: 401", "pass-header Authorization", Trouble + "#401-unauthorized");
        var frontends = FindFrontends(backend);
        var schemes = app.Lines.Where(static line => line.Is("set-param", "REQUEST_SCHEME") || line.Is("set-param", "HTTPS")).ToList();
        // HAProxy says HTTPS itself where it ends TLS.
        if (frontends.SelectMany(static frontend => frontend.Lines).FirstOrDefault(static line => line.Is("http-request", "set-src")) is { } balancer && schemes.All(static line => line.Words is [_, _, "https", "if", "{", "ssl_fc", "}"]))
            report.AddProblem(DoctorRule.SchemeBehindBalancer, app.Where, $"a load balancer is believed ({balancer.Where}), and REQUEST_SCHEME is that of its connection", "if it ends TLS, the application takes each request for http: too many redirects", "set-param REQUEST_SCHEME https if { ssl_fc } || { var(txn.forwarded_proto) -m str https }", Page + "#behind-a-load-balancer");
        if (app.Get("no", "option", "keep-conn") is { } keep)
            report.AddNote(DoctorRule.KeepConnMissing, keep.Where, "no option keep-conn", "each request opens a connection to the application, which costs time", "option keep-conn", Page + "#smallest-configuration");
        InspectPathBase(app);
    }

    private void InspectPathBase(HaProxySection app)
    {
        foreach (var set in app.Lines.Where(static line => line.Is("set-param", "PATH_BASE") && line.Words.Length > 2))
        {
            var value = set.Words[2].TrimEnd('/');
            var paths = set.Words.SkipWhile(static word => word is not ("path_beg" or "path")).Where(static word => word.StartsWith('/')).Select(static path => path.TrimEnd('/')).ToList();
            if (paths.Count > 0 && !paths.All(path => path == value || path.StartsWith(value + "/", StringComparison.Ordinal)))
                report.AddProblem(DoctorRule.PathBase, set.Where, $"PATH_BASE {value} is passed for {string.Join(" and ", paths.Distinct())}", "the path base is not that of the condition: 404", $"set-param PATH_BASE {paths[0]} if {{ path_beg {paths[0]}/ }} || {{ path {paths[0]} }}", Trouble + "#404-not-found");
            else if (set.Words.Length == 3 && value.Length > 0)
                report.AddNote(DoctorRule.PathBase, set.Where, $"PATH_BASE {value} is passed with each request", "paths that do not begin with it are a 404", $"set-param PATH_BASE {value} if {{ path_beg {value}/ }} || {{ path {value} }}", Trouble + "#404-not-found");
        }
    }

    private void InspectBackend(HaProxySection backend)
    {
        if (GetSeconds(backend, "server") is < LongestPoll and var seconds)
            report.AddNote(DoctorRule.ReadTimeout, backend.Get("timeout", "server")!.Where, string.Create(CultureInfo.InvariantCulture, $"timeout server is {seconds} s"), "answers that are silent for longer are a 504; the long polls of Blazor and SignalR last up to 90 seconds", "timeout server 120s", Trouble + "#504-gateway-timeout");
        foreach (var frontend in FindFrontends(backend).Where(static frontend => frontend.Get("option", "http-no-delay") is null))
            report.AddProblem(DoctorRule.StreamingHeld, frontend.Where, $"{frontend.Kind} {frontend.Name} has no 'option http-no-delay'", "server-sent events come late", "option http-no-delay", Trouble + "#late-events");
    }

    /// <summary>The frontends from which requests come to a backend.</summary>
    private List<HaProxySection> FindFrontends(HaProxySection backend) => backend.Kind == "listen"
        ? [backend]
        : [.. _all.Where(section => section.Kind is "frontend" or "listen" && section.Lines.Any(line => (line.Is("default_backend") || line.Is("use_backend")) && line.Words.Length > 1 && line.Words[1] == backend.Name))];

    private HaProxyLine? FindGlobal(string name) => _all.Where(static section => section.Kind == "global").Select(section => section.Get(name)).OfType<HaProxyLine>().LastOrDefault();

    /// <summary>A time-out; milliseconds if it has no unit.</summary>
    private static double? GetSeconds(HaProxySection section, string name)
    {
        if (section.Get("timeout", name) is not { Words: [_, _, var text, ..] })
            return null;

        var unit = text.TrimStart('0', '1', '2', '3', '4', '5', '6', '7', '8', '9');
        var factor = unit switch { "us" => 1e-6, "s" => 1d, "m" => 60d, "h" => 3600d, "d" => 86400d, _ => 1e-3 };
        return double.TryParse(text[..^unit.Length], NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number * factor : null;
    }
}

/// <summary>A server of a backend.</summary>
internal sealed record HaProxyServer(HaProxySection Backend, HaProxyLine Line)
{
    public bool IsFastCgi => string.Join(' ', Line.Words).Contains(" proto fcgi", StringComparison.Ordinal);

    public FastCgiAddress? Address => FastCgiAddress.TryParse(Line.Words[2].Replace("unix@", "unix:", StringComparison.Ordinal).Replace("ipv4@", "", StringComparison.Ordinal), out var address) ? address : null;
}
