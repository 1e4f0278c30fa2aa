using System.Globalization;
using FastCgi.Client;
using FastCgi.Tool.Terminal;
using static FastCgi.Tool.Commands.Doctor.UsualLimits;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Looks at each place of a configuration of nginx that passes requests to FastCGI.</summary>
internal sealed class NginxInspector(DoctorReport report, AddressInspector addresses)
{
    // Who allows so much expects files.
    private const long LargeBody = 100L << 20;
    private const string Page = "front-ends/nginx.md";

    /// <exception cref="ToolException">Nothing in it passes requests on.</exception>
    public async Task InspectAsync(List<NginxDirective> root, CancellationToken cancellationToken)
    {
        var places = NginxPlace.Find(root, "fastcgi_pass").ToList();
        var proxies = NginxPlace.Find(root, "proxy_pass").ToList();
        if (places.Count == 0 && proxies.Count == 0)
            throw new ToolException(ExitCode.CannotRun, "The configuration has no fastcgi_pass. A file that others are included into shows it, or 'nginx -T > FILE' and that file.");

        var upstreams = FindUpstreams(root);
        var users = root.FirstOrDefault(static directive => directive.Name == "user")?.First is { } user && OperatingSystem.IsLinux() ? AddressInspector.FindAccounts([user]) : null;
        foreach (var place in places)
        {
            report.AddFact($"{place.Pass.Where}: {(place.Location is { } path ? $"location {path}, " : "")}fastcgi_pass {place.Pass.First}");
            InspectParameters(place);
            InspectLimits(place);
            InspectConnections(place, upstreams);
            InspectPathBase(place);
            InspectUser(place);
            var targets = FindAddresses(place.Pass.First!, upstreams).ToList();
            foreach (var address in targets)
            {
                await addresses.InspectAsync(address, users is { Count: > 0 } ? users : null, HeadBuffer.OfNginx(place.GetSize("fastcgi_buffer_size", 4096)), cancellationToken);
                if (await addresses.ReadStatusAsync(address, cancellationToken) is { } status)
                    Compare(place, new ApplicationLimits(status));
            }

            if (targets.Count > 1)
                addresses.InspectKeys(upstreams[place.Pass.First!].Where, targets);
        }

        foreach (var proxy in proxies)
            await InspectProxyAsync(proxy, upstreams, cancellationToken);
    }

    private static Dictionary<string, NginxDirective> FindUpstreams(List<NginxDirective> directives)
    {
        var found = new Dictionary<string, NginxDirective>(StringComparer.Ordinal);
        foreach (var directive in directives.Concat(directives.Where(static directive => directive is { Name: "http", Block: not null }).SelectMany(static http => http.Block!)))
        {
            if (directive is { Name: "upstream", First: { } name, Block: not null })
                found[name] = directive;
        }

        return found;
    }

    /// <summary>The addresses behind a name, as far as they stand in the configuration.</summary>
    private static IEnumerable<FastCgiAddress> FindAddresses(string target, Dictionary<string, NginxDirective> upstreams)
    {
        var texts = upstreams.TryGetValue(target, out var upstream)
            ? upstream.Block!.Where(static directive => directive is { Name: "server", First: not null } && !directive.Arguments.Contains("down")).Select(static server => server.First!)
            : [target];
        foreach (var text in texts)
        {
            if (FastCgiAddress.TryParse(text, out var address))
                yield return address;
        }
    }

    private void InspectParameters(NginxPlace place)
    {
        var where = place.Pass.Where;
        if (place.GetParameter("REQUEST_METHOD").Count == 0)
        {
            var evidence = place.Parameters.Count > 0 && place.SwitchedOff is { } off
                ? $"the fastcgi_param of line {place.Parameters[0].Line} switches off all those that stand above it ({off.Where})"
                : "there is no 'include fastcgi_params;', and no REQUEST_METHOD";
            report.AddProblem(DoctorRule.ParamsMissing, where, evidence, "the application answers 400, 'REQUEST_METHOD is missing or empty'", "include fastcgi_params;", Trouble + "#400-bad-request");
            return;
        }

        if (place.GetParameter("REQUEST_URI").Count == 0)
            report.AddProblem(DoctorRule.TargetMissing, where, "there is no REQUEST_URI", "the application takes each request for one for /", "fastcgi_param REQUEST_URI $request_uri;", Trouble + "#400-bad-request");
        if (place.GetParameter("CONTENT_LENGTH").Count == 0)
            report.AddProblem(DoctorRule.LengthMissing, where, "there is no CONTENT_LENGTH", "the application sees no request body", "fastcgi_param CONTENT_LENGTH $content_length;", Trouble + "#empty-body");
        InspectHost(place);
        InspectScheme(place);
        if (place.Get("fastcgi_pass_request_headers") is { First: "off" } headers)
            report.AddProblem(DoctorRule.AuthorizationDropped, headers.Where, "fastcgi_pass_request_headers off;", "the application sees no header, and no Authorization: 401", "fastcgi_pass_request_headers on;", Trouble + "#401-unauthorized");
        else if (place.Parameters.FirstOrDefault(static parameter => parameter is { Arguments: ["HTTP_AUTHORIZATION", "", ..] }) is { } dropped)
            report.AddProblem(DoctorRule.AuthorizationDropped, dropped.Where, "fastcgi_param HTTP_AUTHORIZATION \"\";", "the application sees no Authorization: 401", "fastcgi_param HTTP_AUTHORIZATION $http_authorization;", Trouble + "#401-unauthorized");
    }

    private void InspectHost(NginxPlace place)
    {
        // nginx sends the last that is not empty; if all are, not even the client's header.
        var hosts = place.GetParameter("HTTP_HOST");
        var host = hosts.LastOrDefault(static value => value.Length > 0);
        if (hosts.Count > 0 && host is null)
        {
            report.AddProblem(
                DoctorRule.HostMissing, place.Parameters.Last(static parameter => parameter.First == "HTTP_HOST").Where, "fastcgi_param HTTP_HOST \"\";", "the application does not know which host clients ask for",
                "fastcgi_param HTTP_HOST $host:$server_port;", Trouble + "#redirects-to-another-port");
        }

        if (host is not ("$host" or "$server_name"))
            return;

        foreach (var listen in place.GetAll("listen"))
        {
            var port = listen.First![(listen.First!.LastIndexOf(':') + 1)..];
            if (int.TryParse(port, NumberStyles.None, CultureInfo.InvariantCulture, out var number) && number is not (80 or 443))
                report.AddProblem(DoctorRule.HostPort, listen.Where, $"clients use port {number}, and HTTP_HOST is {host}, which has no port", "redirects and links lack the port", "fastcgi_param HTTP_HOST $host:$server_port;", Trouble + "#redirects-to-another-port");
        }
    }

    private void InspectScheme(NginxPlace place)
    {
        var https = place.GetParameter("HTTPS");
        var scheme = place.GetParameter("REQUEST_SCHEME");
        var tls = place.GetAll("listen").FirstOrDefault(static listen => listen.Arguments.Contains("ssl") || listen.Arguments.Contains("quic"));
        if (tls is not null && https.Count == 0 && scheme.Count == 0)
        {
            report.AddProblem(DoctorRule.SchemeMissing, place.Pass.Where, $"{tls.Where} listens for TLS, and there is neither HTTPS nor REQUEST_SCHEME", "the application takes each request for http: links with http, too many redirects", "fastcgi_param HTTPS $https if_not_empty;", Trouble + "#redirect-loop");
        }
        else if (tls is null && place.GetAll("set_real_ip_from").FirstOrDefault() is { } balancer && https.All(static value => value == "$https") && scheme.All(static value => value == "$scheme"))
        {
            report.AddProblem(
                DoctorRule.SchemeBehindBalancer, place.Pass.Where, $"a load balancer is believed ({balancer.Where}), and HTTPS and REQUEST_SCHEME are those of its connection", "if it ends TLS, the application takes each request for http: too many redirects",
                "fastcgi_param HTTPS $forwarded_https if_not_empty;", Page + "#behind-a-load-balancer");
        }
    }

    private void InspectLimits(NginxPlace place)
    {
        string Tell(string name, string usual) => place.Get(name) is { } directive ? $"{name} {string.Join(' ', directive.Arguments)}" : $"{name} is {usual}, the default";
        string At(string name) => (place.Get(name) ?? place.Pass).Where;
        if (place.GetSize("fastcgi_buffer_size", 4096) <= 4096)
        {
            report.AddNote(DoctorRule.HeadBuffer, At("fastcgi_buffer_size"), Tell("fastcgi_buffer_size", "4k"), "response headers of more, such as cookies of logins, are a 502", HeadBuffer.NginxLine, Trouble + "#response-headers-that-are-too-large");
        }

        if (place.GetSize("client_max_body_size", 1 << 20) is > 0 and < BodyLimit)
            report.AddNote(DoctorRule.BodySize, At("client_max_body_size"), Tell("client_max_body_size", "1m"), "uploads of more are a 413, though the application takes 30,000,000 bytes", "client_max_body_size 30m;", Trouble + "#413-content-too-large");
        InspectMisnamed(place);
        if (place.Get("client_max_body_size") is { } large && place.GetSize("client_max_body_size", 0) is 0 or >= LargeBody && place.Get("fastcgi_request_buffering")?.First != "off")
        {
            report.AddNote(
                DoctorRule.UploadHeld, large.Where, $"client_max_body_size {large.First}, and fastcgi_request_buffering is on", "nginx writes an upload to its disk before the application sees any of it",
                "fastcgi_request_buffering off;", Page + "#full-configuration");
        }

        if (place.GetSeconds("fastcgi_read_timeout", 60) < LongestPoll)
            report.AddNote(DoctorRule.ReadTimeout, At("fastcgi_read_timeout"), Tell("fastcgi_read_timeout", "60s"), "answers that are silent for longer are a 504; the long polls of Blazor and SignalR last up to 90 seconds", "fastcgi_read_timeout 120s;", Trouble + "#504-gateway-timeout");
        if (place.Get("fastcgi_ignore_headers") is { } ignored && ignored.Arguments.Contains("X-Accel-Buffering") && place.Get("fastcgi_buffering")?.First != "off")
            report.AddProblem(DoctorRule.StreamingHeld, ignored.Where, "X-Accel-Buffering is ignored, and fastcgi_buffering is on", "server-sent events come late, or all at the end", "fastcgi_buffering off;", Trouble + "#late-events");
    }

    private void InspectMisnamed(NginxPlace place)
    {
        foreach (var proxy in place.Own.Where(static directive => directive.Name.StartsWith("proxy_", StringComparison.Ordinal) && directive is { Name: not "proxy_pass", First: not null }))
        {
            var line = proxy is { Name: "proxy_set_header", Arguments: [var header, var value] }
                ? $"fastcgi_param HTTP_{header.ToUpperInvariant().Replace('-', '_')} {value};"
                : $"fastcgi_{proxy.Name["proxy_".Length..]} {string.Join(' ', proxy.Arguments)};";
            report.AddNote(DoctorRule.ProxyDirective, proxy.Where, $"{proxy.Name} beside fastcgi_pass", "it counts for proxy_pass alone, and does nothing here", line, Page + "#full-configuration");
        }
    }

    /// <summary>nginx passes the name of any Authorization header: who takes it for one that was checked lets everybody in.</summary>
    private void InspectUser(NginxPlace place)
    {
        var isChecked = place.Get("auth_basic") is { First: not "off" } || place.Get("auth_request") is { First: not "off" } || place.Get("auth_jwt") is { First: not "off" } || place.Get("ssl_verify_client") is { First: "on" };
        var type = place.Parameters.LastOrDefault(static parameter => parameter is { Arguments: ["AUTH_TYPE", not "", ..] });
        if (type is { Arguments: [_, not ['$', ..], ..] } && !isChecked)
        {
            report.AddProblem(
                DoctorRule.UserUnverified, type.Where, "AUTH_TYPE is passed, and nothing here checks who the user is", "any client can be any user of an application with AddFastCgi()",
                "auth_basic \"Members\";\nauth_basic_user_file /etc/nginx/members;", "identity.md#the-user");
        }
        else if (type is null && place.Get("auth_basic") is { First: not "off" } basic && place.GetParameter("REMOTE_USER").Count > 0)
        {
            report.AddNote(
                DoctorRule.UserUnverified, basic.Where, "auth_basic, and no AUTH_TYPE is passed", "an application with AddFastCgi() does not take the user: 401",
                "fastcgi_param AUTH_TYPE Basic;", "identity.md#the-user");
        }
    }

    /// <summary>Compares the limits of both.</summary>
    private void Compare(NginxPlace place, ApplicationLimits limits)
    {
        if (place.Get("client_max_body_size") is { } body)
            limits.CompareBodies(report, body.Where, $"client_max_body_size {body.First}", place.GetSize("client_max_body_size", 1 << 20));
        limits.CompareTimes(report, (place.Get("fastcgi_read_timeout") ?? place.Pass).Where, "fastcgi_read_timeout", place.GetSeconds("fastcgi_read_timeout", 60));
    }

    private void InspectConnections(NginxPlace place, Dictionary<string, NginxDirective> upstreams)
    {
        var keeps = place.Get("fastcgi_keep_conn");
        var keepalive = upstreams.TryGetValue(place.Pass.First!, out var upstream) ? upstream.Block!.LastOrDefault(static directive => directive.Name == "keepalive") : null;
        if (keepalive is not null && keeps?.First != "on")
            report.AddProblem(DoctorRule.KeepConnMissing, keepalive.Where, $"keepalive {keepalive.First}, without 'fastcgi_keep_conn on;' where requests are passed to it", "no connection is kept: each request opens one", "fastcgi_keep_conn on;", Page + "#full-configuration");
        else if (keepalive is null && keeps?.First == "on")
            report.AddNote(DoctorRule.KeepaliveMissing, keeps.Where, "fastcgi_keep_conn on, without 'keepalive' in the upstream", "no connection is kept: each request opens one", "keepalive 16;", Page + "#full-configuration");
    }

    private void InspectPathBase(NginxPlace place)
    {
        var value = place.GetParameter("PATH_BASE") is [.., var last] ? last : null;
        if (place.Location == "/" && value is ['/', _, ..])
        {
            report.AddNote(
                DoctorRule.PathBase, place.Parameters.Last(static parameter => parameter.First == "PATH_BASE").Where, $"location / passes PATH_BASE {value} with each request", "paths that do not begin with it are a 404",
                $"location {value.TrimEnd('/')}/ {{\n    include fastcgi_params;\n    fastcgi_param PATH_BASE {value.TrimEnd('/')};\n    fastcgi_pass {place.Pass.First};\n}}", Trouble + "#404-not-found");
        }

        if (place.Location is not { } location || location.TrimEnd('/') is not ['/', ..] path)
            return;

        if (value is null)
            report.AddNote(DoctorRule.PathBase, place.Pass.Where, $"location {location} passes no PATH_BASE", $"the application sees paths that begin with {path}: 404, unless it has that path base or such paths itself", $"fastcgi_param PATH_BASE {path};", Trouble + "#404-not-found");
        else if (!value.StartsWith('$') && value.Length > 0 && path != value.TrimEnd('/') && !path.StartsWith(value.TrimEnd('/') + "/", StringComparison.Ordinal))
            report.AddProblem(DoctorRule.PathBase, place.Parameters.Last(static parameter => parameter.First == "PATH_BASE").Where, $"location {location} passes PATH_BASE {value}", "the path base is not that of the location: 404", $"fastcgi_param PATH_BASE {path};", Trouble + "#404-not-found");
    }

    private async Task InspectProxyAsync(NginxPlace proxy, Dictionary<string, NginxDirective> upstreams, CancellationToken cancellationToken)
    {
        var target = proxy.Pass.First!;
        var scheme = target.StartsWith("https://", StringComparison.Ordinal) ? "https://" : "http://";
        if (!target.StartsWith(scheme, StringComparison.Ordinal))
            return;

        // http://unix:/path:/ and http://name/
        var rest = target[scheme.Length..];
        var name = rest.StartsWith("unix:", StringComparison.Ordinal) ? rest.Split(':') is [_, var path, ..] ? "unix:" + path : rest : rest.Split('/')[0];
        foreach (var address in FindAddresses(name, upstreams))
        {
            if (await addresses.SpeaksFastCgiAsync(address, cancellationToken))
            {
                report.AddProblem(
                    DoctorRule.HttpToFastcgi, proxy.Pass.Where, $"proxy_pass {target}, and what listens there speaks FastCGI", scheme == "http://" ? "the application answers 400, 'This port speaks FastCGI, not HTTP.'" : "nginx answers 502",
                    $"include fastcgi_params;\nfastcgi_pass {name};", Trouble + "#400-bad-request");
            }
        }
    }
}
