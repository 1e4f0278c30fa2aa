using System.Globalization;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Checks each backend of an HAProxy configuration that passes requests to FastCGI.</summary>
internal sealed class HaProxyInspector(DoctorReport report, AddressInspector addresses)
{
    // HAProxy reserves a part of each buffer for its own changes.
    private const int UsualBuffer = 16_384;
    private const int RewriteReserve = 1_024;

    private List<HaProxySection> _all = [];

    /// <exception cref="ToolException">Nothing in it passes requests on.</exception>
    public async Task InspectAsync(List<HaProxySection> sections, CancellationToken cancellationToken)
    {
        _all = sections;
        var servers = (
            from section in sections
            where section.Kind is "backend" or "listen"
            from line in section.Lines
            where line.Is("server") && line.Words.Length > 2
            select new HaProxyServer(section, line)).ToList();
        if (servers.Count == 0 && report.Problems == 0)
            throw new ToolException(ExitCode.CannotRun, "The configuration has no backend with a server. Check each file of a folder by itself.");

        foreach (var backend in servers.Where(static server => server.IsFastCgi).GroupBy(static server => server.Backend))
        {
            var place = new HaProxyPlace(backend.Key, sections);
            report.Apply(HaProxyRules.All, place);
            foreach (var server in backend)
                await InspectAsync(place, server, cancellationToken);
            var active = backend.Where(static server => !server.Line.Words.Contains("backup"))
                .Select(static server => server.Address).OfType<FastCgiAddress>().ToList();
            if (active.Count > 1)
                addresses.InspectKeys(backend.Key.Where, active);
        }

        foreach (var server in servers.Where(static server => !server.IsFastCgi))
            await InspectHttpAsync(server, cancellationToken);
    }

    private async Task InspectAsync(HaProxyPlace place, HaProxyServer server, CancellationToken cancellationToken)
    {
        var (where, target) = (server.Line.Where, server.Target);
        if (server.Address is not { } address)
        {
            report.AddNotUnderstood($"{where}: '{target}' is not an address");
            return;
        }

        report.AddFact($"{where}: {place.Name} to {target}");
        if (target is ['/', ..] && FindGlobal("chroot") is { Words: [_, var folder, ..] } chroot)
        {
            report.AddProblem(
                "chroot", where, $"HAProxy runs in {folder} ({chroot.Where}), so {target} is {folder.TrimEnd('/')}{target}",
                    "it does not reach the socket: 503",
                $"server {server.Line.Words[1]} 127.0.0.1:9000 proto fcgi", "#permission-denied");
            return;
        }

        var users = AddressInspector.FindAccounts(FindGlobal("user") is { Words: [_, var user, ..] } ? user : null);
        await addresses.InspectAsync(address, users, GetHeadBuffer(), cancellationToken);
        if (place.ServerTimeout is { } seconds && await addresses.ReadStatusAsync(address, cancellationToken) is { } status)
            new ApplicationLimits(status).CompareTimes(report, place.Backend.Get("timeout", "server")!.Where, "timeout server", seconds);
    }

    private async Task InspectHttpAsync(HaProxyServer server, CancellationToken cancellationToken)
    {
        if (server.Address is not { } address || !await addresses.SpeaksFastCgiAsync(address, cancellationToken))
            return;

        report.AddProblem(
            "http-to-fastcgi", server.Line.Where, $"{server.Target} has no 'proto fcgi', and an application speaks FastCGI there",
            "the application answers 400, 'This port speaks FastCGI, not HTTP.', or HAProxy 502",
            $"use-fcgi-app hello\nserver {server.Line.Words[1]} {server.Target} proto fcgi", "#400-bad-request");
    }

    private HeadBuffer GetHeadBuffer()
    {
        var size = FindGlobal("tune.bufsize") is { Words: [_, var text, ..] } && int.TryParse(text, CultureInfo.InvariantCulture, out var value)
            ? value : UsualBuffer;
        return new HeadBuffer("HAProxy", size - RewriteReserve, "HAProxy answers 502", "tune.bufsize 32768");
    }

    private HaProxyLine? FindGlobal(string name) => _all.Where(static section => section.Kind == "global")
        .Select(section => section.Get(name)).OfType<HaProxyLine>().LastOrDefault();
}

/// <summary>A server of a backend.</summary>
internal sealed record HaProxyServer(HaProxySection Backend, HaProxyLine Line)
{
    public string Target => Line.Words[2];

    public bool IsFastCgi => string.Join(' ', Line.Words).Contains(" proto fcgi", StringComparison.Ordinal);

    public FastCgiAddress? Address
        => FastCgiAddress.TryParse(Target.Replace("unix@", "unix:", StringComparison.Ordinal).Replace("ipv4@", "", StringComparison.Ordinal),
            out var address) ? address : null;
}
