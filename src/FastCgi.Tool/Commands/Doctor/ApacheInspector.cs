using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Checks each place of an Apache configuration that passes requests to FastCGI.</summary>
internal sealed class ApacheInspector(DoctorReport report, AddressInspector addresses)
{
    // HUGE_STRING_LEN without the end of the line; no directive changes it.
    private static readonly HeadBuffer s_headBuffer = new(
        "Apache", 8_190, "Apache answers 500 and logs 'AH01070: Error parsing script headers'",
            "# no line of Apache: the application has to send a shorter header")
    { IsOfOneHeader = true };

    /// <exception cref="ToolException">Nothing in it passes requests on.</exception>
    public async Task InspectAsync(string file, string text, CancellationToken cancellationToken)
    {
        var all = ApacheReader.Read(file, text, report);
        var places = all.Select(directive => ApachePlace.TryCreate(directive, all)).OfType<ApachePlace>().ToList();
        if (places.Count == 0 && report.Problems == 0)
            throw new ToolException(ExitCode.CannotRun, "The configuration has no ProxyPass, SetHandler or RewriteRule that passes requests on. Includes are followed; mod_macro is not.");

        foreach (var place in places)
        {
            if (place.IsFastCgi)
                await InspectAsync(place, all, file, cancellationToken);
            else
                await InspectHttpAsync(place, cancellationToken);
        }
    }

    private async Task InspectAsync(ApachePlace place, List<ApacheDirective> all, string file, CancellationToken cancellationToken)
    {
        report.AddFact($"{place.Where}: {place.Path} to {place.Target}");
        if (LacksModule(all, file))
        {
            report.AddProblem(
                "module-missing", place.Where, "proxy_fcgi_module is not loaded", "Apache does not start, or answers 500", "a2enmod proxy_fcgi",
                    "front-ends/apache.md#smallest-configuration");
        }

        report.Apply(ApacheRules.All, place);
        var targets = new List<FastCgiAddress>();
        foreach (var text in place.Addresses)
        {
            if (!FastCgiAddress.TryParse(text, out var address))
            {
                report.AddNotUnderstood($"{place.Where}: '{text}' is not an address");
                continue;
            }

            targets.Add(address);
            await addresses.InspectAsync(address, users: null, s_headBuffer, cancellationToken);
            // LimitRequestBody does not apply to mod_proxy_fcgi.
            if (await addresses.ReadStatusAsync(address, cancellationToken) is { } status)
                new ApplicationLimits(status).CompareTimes(report, place.Where, "the timeout", place.Seconds);
        }

        if (targets.Count > 1)
            addresses.InspectKeys(place.Where, targets);
    }

    private async Task InspectHttpAsync(ApachePlace place, CancellationToken cancellationToken)
    {
        foreach (var text in place.Addresses)
        {
            if (!FastCgiAddress.TryParse(text, out var address) || !await addresses.SpeaksFastCgiAsync(address, cancellationToken))
                continue;

            var target = place.Target.Replace(place.Scheme + "://", "fcgi://", StringComparison.Ordinal);
            report.AddProblem(
                "http-to-fastcgi", place.Where, $"{place.Target}, where an application speaks FastCGI",
                place.Scheme == "http" ? "the application answers 400, 'This port speaks FastCGI, not HTTP.'" : "Apache answers 502",
                $"ProxyPass \"{place.Path}\" \"{target}\" flushpackets=on timeout=120", "#400-bad-request");
        }
    }

    /// <summary>The file loads the modules, or a folder above it does: on Debian, <c>mods-enabled</c>.</summary>
    private static bool LacksModule(List<ApacheDirective> all, string file)
    {
        var loads = all.Where(static directive => directive.Is("LoadModule")).ToList();
        if (loads.Count > 0)
            return loads.All(static load => load.Arguments is not ["proxy_fcgi_module", ..]);

        for (var folder = Path.GetDirectoryName(Path.GetFullPath(file)); folder is not null; folder = Path.GetDirectoryName(folder))
        {
            var modules = Path.Combine(folder, "mods-enabled");
            if (Directory.Exists(modules))
                return !File.Exists(Path.Combine(modules, "proxy_fcgi.load"));
        }

        return false;
    }
}
