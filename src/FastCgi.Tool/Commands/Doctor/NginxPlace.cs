namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A <c>fastcgi_pass</c> or <c>proxy_pass</c> of nginx.</summary>
internal sealed class NginxPlace(Directive pass, Directive root) : Place(pass)
{
    private static readonly string[] s_checks = ["auth_basic", "auth_request", "auth_jwt"];
    private static readonly string[] s_schemes = ["http://", "https://"];

    // Such a limit means files.
    private const long LargeBody = 100L << 20;

    private static readonly Rule<NginxPlace>[] s_rules =
    [
        new("nginx.params-missing", static place => place.LacksParameters ? [new(place.Where, DescribeMissing(place))] : []),
        new("nginx.target-missing", static place => place.Missing("REQUEST_URI")),
        new("nginx.target-rewritten", static place => If(place.Set("REQUEST_URI") is { Arguments: [_, "$uri" or "$document_uri", ..] } set ? set : null)),
        new("nginx.length-missing", static place => place.Missing("CONTENT_LENGTH")),
        new("nginx.parameter-missing.type", static place => place.Missing("CONTENT_TYPE")),
        new("nginx.parameter-missing.address", static place => place.Missing("REMOTE_ADDR")),
        new("nginx.parameter-missing.query", static place => place.Missing("QUERY_STRING")),
        // nginx sends the last value that is not empty; if all are empty, not even the client's header.
        new("nginx.host-missing", static place => If(place.GetParameter("HTTP_HOST").All(static value => value.Length == 0) ? place.Set("HTTP_HOST") : null)),
        new("nginx.host-port", FindHostsWithoutPort),
        new("nginx.scheme-missing", static place => place.Tls is { } tls && !place.LacksParameters && !HasScheme(place)
            ? [new(place.Where, $"{tls.Where} uses TLS, but neither HTTPS nor REQUEST_SCHEME is passed")] : []),
        new("nginx.scheme-behind-balancer", FindTrustedBalancer),
        new("nginx.authorization-dropped.headers", static place => place.IfSet("fastcgi_pass_request_headers", "off")),
        new("nginx.authorization-dropped.value", static place => If(place.Set("HTTP_AUTHORIZATION") is { Arguments: [_, "", ..] } set ? set : null)),
        // nginx passes the name of any Authorization header, checked or not.
        new("nginx.user-unverified.unchecked",
            static place => place.Set("AUTH_TYPE") is { Arguments: [_, not ("" or ['$', ..]), ..] } set && !place.ChecksUsers
            ? [new(set.Where, "AUTH_TYPE is passed, but no directive authenticates the user")] : []),
        new("nginx.user-unverified.unused", static place => place.Get("auth_basic") is { First: not "off" } basic && place.Set("AUTH_TYPE") is null
            && place.GetParameter("REMOTE_USER").Any() ? [new(basic.Where, "auth_basic without AUTH_TYPE")] : []),
        new("nginx.body-dropped", static place => place.IfSet("fastcgi_pass_request_body", "off")),
        new("nginx.errors-replaced", static place => place.Pass.GetAll("error_page").Any() ? place.IfSet("fastcgi_intercept_errors", "on") : []),
        new("nginx.cache-cookies", static place => place.Get("fastcgi_cache") is { First: not "off" } && FindIgnored(place, "Set-Cookie") is { } ignored
            && place.Pass.GetAll("fastcgi_hide_header").All(static hidden => hidden.First != "Set-Cookie")
            ? [new(ignored.Where, "fastcgi_cache ignores Set-Cookie")] : []),
        new("nginx.try-files", static place => If(place.IsForScripts ? null
            : place.Own.FirstOrDefault(static inner => inner is { Name: "try_files", Arguments: [.., ['=', ..]] }))),
        new("nginx.only-root", static place => place.Location is ["=", "/"] && place.Passes == 1
            ? [new(place.Where, "only location = / passes requests to the application")] : []),
        new("nginx.path-base.always", static place => place.Prefix == "/" && place.PathBase is ['/', _, ..] value
            ? [new(place.Set("PATH_BASE")!.Where, $"location / passes PATH_BASE {value} with each request", CreateLocation(place, value.TrimEnd('/')))] : []),
        new("nginx.path-base.missing", static place => place.PathBase is null && place.Get("fastcgi_split_path_info") is null
            && place.Prefix?.TrimEnd('/') is ['/', ..] path
            ? [LacksPathBase(place.Where, $"location {place.Prefix} passes no PATH_BASE", path, $"fastcgi_param PATH_BASE {path};")] : []),
        new("nginx.path-base.other", static place => place.Prefix?.TrimEnd('/') is ['/', ..] path && place.PathBase is [not '$', ..] value
            && !(path + "/").StartsWith(value.TrimEnd('/') + "/", StringComparison.Ordinal)
            ? [new(place.Set("PATH_BASE")!.Where, $"location {place.Prefix} passes PATH_BASE {value}", $"fastcgi_param PATH_BASE {path};")] : []),
        new("nginx.head-buffer.set", static place => If(place.GetSize("fastcgi_buffer_size", 4096) <= 4096 ? place.Get("fastcgi_buffer_size") : null)),
        new("nginx.head-buffer.default", static place => place.Get("fastcgi_buffer_size") is null
            ? [new(place.Where, "fastcgi_buffer_size is 4k, the default")] : []),
        new("nginx.body-size.set", static place => If(place.BodyLimit is (_, _, > 0 and < UsualBody) ? place.Get("client_max_body_size") : null)),
        new("nginx.body-size.default", static place => place.Get("client_max_body_size") is null
            ? [new(place.Where, "client_max_body_size is 1m, the default")] : []),
        new("nginx.upload-held", static place => place.BodyLimit is var (where, text, size) && size is 0 or >= LargeBody
            && place.Get("fastcgi_request_buffering")?.First != "off" ? [new(where, $"{text} and fastcgi_request_buffering on")] : []),
        new("nginx.read-timeout", static place => place.ReadTimeout is (var where, < LongestPoll)
            ? [new(where, place.Get("fastcgi_read_timeout")?.Text ?? "fastcgi_read_timeout is 60s, the default")] : []),
        new("nginx.streaming-held", static place => FindIgnored(place, "X-Accel-Buffering") is { } ignored && place.Get("fastcgi_buffering")?.First != "off"
            ? [new(ignored.Where, "X-Accel-Buffering is ignored while fastcgi_buffering is on")] : []),
        new("nginx.proxy-directive", static place => place.Own.Where(static inner => inner.Name.StartsWith("proxy_", StringComparison.Ordinal)
            && inner is { Name: not "proxy_pass", First: not null })
            .Select(static proxy => new Seen(proxy.Where, $"{proxy.Name} with fastcgi_pass", Translate(proxy)))),
        new("nginx.keep-conn-missing", static place => place.Keepalive is { } keepalive && place.Get("fastcgi_keep_conn")?.First != "on"
            ? [new(keepalive.Where, $"keepalive {keepalive.First}, but no 'fastcgi_keep_conn on;' at {place.Where}")] : []),
        new("nginx.keepalive-missing", static place => place.Keepalive is null && place.Get("fastcgi_keep_conn") is { First: "on" } keeps
            ? [new(keeps.Where, "fastcgi_keep_conn on, but no 'keepalive' in an upstream")] : []),
        new("nginx.tls-missing", static place => place.Pass.GetAll("listen")
            .Where(listen => GetPort(listen) == 443 && !IsTls(listen) && place.Get("ssl")?.First != "on")
            .Select(static listen => new Seen(listen.Where, $"{listen.Text}, without ssl", $"listen {listen.First} ssl;"))),
        new("nginx.duplicate-server", static place => place.FindDuplicate()),
    ];

    public override bool IsFastCgi => Pass.Is("fastcgi_pass");

    public override string Description => $"{(Location.Length > 0 ? $"location {string.Join(' ', Location)}, " : "")}fastcgi_pass {Pass.First}";

    public override string Balancer => Upstream?.Where ?? Where;

    public override string? User => root.Find("user")?.First;

    public override HeadBuffer HeadBuffer => HeadBuffer.OfNginx(GetSize("fastcgi_buffer_size", 4096));

    /// <summary>The limit of a request body; 0 for none.</summary>
    private (string, string, long)? BodyLimit
        => Get("client_max_body_size") is { } body ? (body.Where, body.Text, GetSize("client_max_body_size", 1 << 20)) : null;

    private (string, double) ReadTimeout => ((Get("fastcgi_read_timeout") ?? Pass).Where, GetSeconds("fastcgi_read_timeout", 60));

    /// <summary>The addresses of an upstream, or the address itself: for proxy_pass, of http://unix:/path:/ and http://name/.</summary>
    public override IEnumerable<string> Targets => IsFastCgi
        ? Upstream?.Block.Where(static server => server.First is not null && server.Is("server") && !server.Arguments.Contains("down"))
            .Select(static server => server.First!) ?? [Pass.First!]
        : HttpScheme is { } scheme && Pass.First![scheme.Length..] is var rest
            ? [rest.Split(':') is ["unix", var path, ..] ? "unix:" + path : rest.Split('/')[0]] : [];

    public override (string, string?, string) HttpMistake => ($"proxy_pass {Pass.First}, but the application there speaks FastCGI",
        HttpScheme == s_schemes[1] ? "nginx returns 502" : null, $"include fastcgi_params;\nfastcgi_pass {Targets.First()};");

    private string? HttpScheme => s_schemes.FirstOrDefault(scheme => Pass.First!.StartsWith(scheme, StringComparison.Ordinal));

    public Directive? Server => Pass.FindAround("server");

    public string[] Location => Pass.FindAround("location")?.Arguments ?? [];

    /// <summary>The path of a location that is a prefix.</summary>
    public string? Prefix => Location is [_] or ["^~", _] ? Location[^1] : null;

    public bool IsForScripts => Location is [['~', ..], var pattern] && pattern.Contains("\\.", StringComparison.Ordinal);

    /// <summary>The parameters in effect: those of the innermost block that has any.</summary>
    public IReadOnlyList<Directive> Parameters { get; } = pass.Around.Select(static block => block.Block
        .FindAll(static inner => inner.Is("fastcgi_param"))).FirstOrDefault(static list => list.Count > 0) ?? [];

    /// <summary>A parameter of an outer block, which those of an inner block disable.</summary>
    public Directive? Disabled => Pass.GetAll("fastcgi_param").FirstOrDefault(inner => inner.First == "REQUEST_METHOD" && !Parameters.Contains(inner));

    public bool LacksParameters => !GetParameter("REQUEST_METHOD").Any();

    public string? PathBase => Set("PATH_BASE")?.Arguments[1];

    public IReadOnlyList<Directive> Own => Pass.Parent!.Block;

    public Directive? Tls => Pass.GetAll("listen").FirstOrDefault(IsTls);

    public bool ChecksUsers => s_checks.Any(check => Get(check) is { First: not "off" }) || Get("ssl_verify_client") is { First: "on" };

    public Directive? Upstream => Blocks.LastOrDefault(block => block.Is("upstream", Pass.First!));

    public Directive? Keepalive => Upstream?.Find("keepalive");

    /// <summary>How many places of the server pass requests on.</summary>
    public int Passes => Server?.All.Count(static inner => inner.Is("fastcgi_pass") || inner.Is("proxy_pass")) ?? 0;

    private IEnumerable<Directive> Blocks => root.Block.Concat(root.Block.Where(static inner => inner.Is("http")).SelectMany(static http => http.Block));

    public static IEnumerable<Place> Find(DoctorReport report, string file, string text)
    {
        var root = NginxReader.Read(report, file, text);
        return root.All.Where(static inner => inner.First is not null && (inner.Is("fastcgi_pass") || inner.Is("proxy_pass")))
            .OrderBy(static inner => inner.Is("proxy_pass")).Select(pass => new NginxPlace(pass, root));
    }

    public override void Apply(DoctorReport report) => report.Apply(s_rules, this);

    public static bool IsTls(Directive listen) => listen.Arguments.Contains("ssl") || listen.Arguments.Contains("quic");

    /// <returns>0 for a socket.</returns>
    public static int GetPort(Directive listen)
    {
        var text = listen.First ?? "";
        return int.TryParse(text[(text.LastIndexOf(':') + 1)..], NumberStyles.None, CultureInfo.InvariantCulture, out var port) ? port
            : text.StartsWith("unix:", StringComparison.Ordinal) ? 0 : 80;
    }

    public Directive? Get(string name) => Pass.Get(name);

    public IEnumerable<string> GetParameter(string name)
        => Parameters.Where(parameter => parameter.First == name && parameter.Arguments.Length > 1).Select(static parameter => parameter.Arguments[1]);

    /// <summary>The last line that sets a parameter.</summary>
    public Directive? Set(string name) => Parameters.LastOrDefault(parameter => parameter.First == name && parameter.Arguments.Length > 1);

    /// <summary>Matches if a parameter is not passed, although others are.</summary>
    public IEnumerable<Seen> Missing(string name) => LacksParameters || GetParameter(name).Any() ? [] : [new(Where, $"{name} is not passed")];

    /// <summary>Matches if a directive has this value.</summary>
    public IEnumerable<Seen> IfSet(string name, string value) => If(Get(name) is { } directive && directive.First == value ? directive : null);

    /// <summary>Matches an earlier server with the same name and port.</summary>
    public IEnumerable<Seen> FindDuplicate()
    {
        if (Server is not { } own)
            return [];

        var ends = Describe(own).ToHashSet();
        return from other in Blocks.Where(static block => block.Is("server")).TakeWhile(other => other != own)
               let same = Describe(other).FirstOrDefault(ends.Contains)
               where same.Name is not null
               select new Seen(own.Where, $"server_name {same.Name} is also in {other.Where}, for the same port");
    }

    /// <summary>A size in bytes, such as <c>16k</c>.</summary>
    public long GetSize(string name, long usual) => (long)Measure(Get(name)?.First, usual, static unit
        => unit switch { "k" or "K" => 1L << 10, "m" or "M" => 1L << 20, "g" or "G" => 1L << 30, _ => 1 });

    /// <summary>A time in seconds, such as <c>2m</c>.</summary>
    public double GetSeconds(string name, double usual) => Measure(Get(name)?.First, usual, static unit
        => unit switch { "ms" => 0.001, "m" => 60, "h" => 3600, "d" => 86400, _ => 1 });

    public static double Measure(string? text, double usual, Func<string, double> getFactor)
    {
        var digits = (text ?? "").TrimEnd([.. "abcdefghijklmnopqrstuvwxyzKMG"]);
        return double.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number * getFactor(text![digits.Length..]) : usual;
    }

    private static IEnumerable<(string Listen, string Name)> Describe(Directive server)
    {
        var names = server.Block.Where(static inner => inner.Is("server_name")).SelectMany(static name => name.Arguments).DefaultIfEmpty("").ToList();
        var listens = server.Block.Where(static inner => inner.First is not null && inner.Is("listen")).Select(static listen => listen.First!);
        return from listen in listens.DefaultIfEmpty("80")
               from name in names
               select (listen.Replace("*:", "", StringComparison.Ordinal).Replace("0.0.0.0:", "", StringComparison.Ordinal), name);
    }

    private static string DescribeMissing(NginxPlace place) => place.Parameters.Count > 0 && place.Disabled is { } off
        ? $"the fastcgi_param in line {place.Parameters[0].Line} disables those inherited from {off.Where}"
        : "there is no 'include fastcgi_params;' and no REQUEST_METHOD";

    private static bool HasScheme(NginxPlace place) => place.GetParameter("HTTPS").Concat(place.GetParameter("REQUEST_SCHEME")).Any();

    private static IEnumerable<Seen> FindHostsWithoutPort(NginxPlace place)
    {
        var host = place.GetParameter("HTTP_HOST").LastOrDefault(static value => value.Length > 0);
        if (host is not ("$host" or "$server_name") || place.Set("SERVER_PORT") is { Arguments: [_, "443", ..] })
            return [];

        return place.Pass.GetAll("listen").Where(static listen => GetPort(listen) is not (80 or 443 or 0))
            .Select(listen => new Seen(listen.Where, $"clients use port {GetPort(listen)}, but HTTP_HOST is {host}, without a port"));
    }

    private static IEnumerable<Seen> FindTrustedBalancer(NginxPlace place)
        => !place.LacksParameters && place.Tls is null && place.Pass.GetAll("set_real_ip_from").FirstOrDefault() is { } balancer
            && place.GetParameter("HTTPS").All(static value => value == "$https")
            && place.GetParameter("REQUEST_SCHEME").All(static value => value == "$scheme")
            ? [new(place.Where, $"a load balancer is trusted ({balancer.Where}), but HTTPS and REQUEST_SCHEME describe its connection")] : [];

    private static Directive? FindIgnored(NginxPlace place, string header)
        => place.Get("fastcgi_ignore_headers") is { } ignored && ignored.Arguments.Contains(header) ? ignored : null;

    private static string CreateLocation(NginxPlace place, string path)
        => $"location {path}/ {{\n    include fastcgi_params;\n    fastcgi_param PATH_BASE {path};\n    fastcgi_pass {place.Pass.First};\n}}";

    private static string Translate(Directive proxy) => proxy is { Name: "proxy_set_header", Arguments: [var header, var value] }
        ? $"fastcgi_param HTTP_{header.ToUpperInvariant().Replace('-', '_')} {value};"
        : $"fastcgi_{proxy.Name["proxy_".Length..]} {string.Join(' ', proxy.Arguments)};";
}
