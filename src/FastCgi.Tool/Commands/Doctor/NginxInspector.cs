using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Checks each place of an nginx configuration that passes requests to FastCGI.</summary>
internal sealed class NginxInspector(DoctorReport report, AddressInspector addresses)
{
    /// <exception cref="ToolException">Nothing in it passes requests on.</exception>
    public async Task InspectAsync(List<NginxDirective> root, CancellationToken cancellationToken)
    {
        var servers = NginxServers.Create(root);
        var places = NginxPlace.Find(root, "fastcgi_pass", servers).ToList();
        var proxies = NginxPlace.Find(root, "proxy_pass", servers).ToList();
        if (places.Count == 0 && proxies.Count == 0 && report.Problems == 0)
            throw new ToolException(ExitCode.CannotRun, "The configuration has no fastcgi_pass. If other files include it, check them, or the output of 'nginx -T' in a file.");

        var users = AddressInspector.FindAccounts(root.FirstOrDefault(static directive => directive.Name == "user")?.First);
        foreach (var place in places)
        {
            report.AddFact($"{place.Pass.Where}: {(place.Location.Length > 0 ? $"location {string.Join(' ', place.Location)}, " : "")}fastcgi_pass {place.Pass.First}");
            report.Apply(NginxRules.All, place);
            var targets = FindAddresses(place, place.Pass.First!).ToList();
            foreach (var address in targets)
            {
                await addresses.InspectAsync(address, users, HeadBuffer.OfNginx(place.GetSize("fastcgi_buffer_size", 4096)), cancellationToken);
                if (await addresses.ReadStatusAsync(address, cancellationToken) is { } status)
                    Compare(place, new ApplicationLimits(status));
            }

            if (targets.Count > 1)
                addresses.InspectKeys(place.Upstream!.Where, targets);
        }

        foreach (var proxy in proxies)
            await InspectProxyAsync(proxy, cancellationToken);
    }

    /// <summary>The addresses of an upstream, or the address itself.</summary>
    private List<FastCgiAddress> FindAddresses(NginxPlace place, string target)
    {
        var texts = place.Upstream is { } upstream
            ? upstream.Block!.Where(static directive => directive is { Name: "server", First: not null } && !directive.Arguments.Contains("down"))
                .Select(static server => server.First!)
            : [target];
        var found = new List<FastCgiAddress>();
        foreach (var text in texts)
        {
            if (FastCgiAddress.TryParse(text, out var address))
                found.Add(address);
            else
                report.AddNotUnderstood($"{place.Pass.Where}: {(text.Contains('$', StringComparison.Ordinal) ? $"variables are not evaluated: {text}" : $"'{text}' is not an address")}");
        }

        return found;
    }

    private void Compare(NginxPlace place, ApplicationLimits limits)
    {
        if (place.Get("client_max_body_size") is { } body)
            limits.CompareBodies(report, body.Where, body.Text, place.GetSize("client_max_body_size", 1 << 20));
        limits.CompareTimes(report, (place.Get("fastcgi_read_timeout") ?? place.Pass).Where, "fastcgi_read_timeout",
            place.GetSeconds("fastcgi_read_timeout", 60));
    }

    private async Task InspectProxyAsync(NginxPlace proxy, CancellationToken cancellationToken)
    {
        var target = proxy.Pass.First!;
        var scheme = target.StartsWith("https://", StringComparison.Ordinal) ? "https://" : "http://";
        if (!target.StartsWith(scheme, StringComparison.Ordinal))
            return;

        // http://unix:/path:/ and http://name/
        var rest = target[scheme.Length..];
        var name = rest.StartsWith("unix:", StringComparison.Ordinal) ? rest.Split(':') is [_, var path, ..] ? "unix:" + path : rest : rest.Split('/')[0];
        if (FastCgiAddress.TryParse(name, out var address) && await addresses.SpeaksFastCgiAsync(address, cancellationToken))
        {
            report.AddProblem(
                "http-to-fastcgi", proxy.Pass.Where, $"proxy_pass {target}, where an application speaks FastCGI",
                scheme == "http://" ? "the application answers 400, 'This port speaks FastCGI, not HTTP.'" : "nginx answers 502",
                $"include fastcgi_params;\nfastcgi_pass {name};", "#400-bad-request");
        }
    }
}
