namespace FastCgi.Tool.Commands.Doctor;

/// <summary>What a client can forge.</summary>
internal sealed class CaddyTrust
{
    private static readonly Regex s_header = new(
        @"\{(http\.request\.)?(header\.(?!Host\})(?<header>[^}]+)|cookie\.|query\.|uri\.query|query\})",
        RegexOptions.IgnoreCase);
    private static readonly Regex s_variable = new(
        @"\{(http\.)?(vars\.)?(?<name>re(gexp)?(?=\.)|[\w.]+)[\w.]*\}");
    private static readonly string[] s_ofClient = ["header", "header_regexp", "query"];
    private static readonly string[] s_ofAddress = ["remote_ip", "client_ip"];
    private static readonly string[] s_networks = ["private_ranges", "forwarded", "static"];
    private static readonly string[] s_responses =
        ["abort", "error", "respond", "redir", "reverse_proxy", "php_fastcgi", "file_server"];

    private static readonly string[] s_guards = ["abort", "error", "basicauth", "basic_auth", "forward_auth"];
    private static readonly Regex s_path = new(
        @"^\s*(?<not>!)?\s*(\{(http\.request\.uri\.)?path\}\s*(\.(?<test>\w+)\(|==)|(?<test>path)\()\s*"
        + @"['""](?<text>[^'""]*)['""]\s*\)?\s*$");

    private readonly CaddyPlace _place;
    private readonly Visit? _visit;
    private readonly HashSet<string> _chosen = new(StringComparer.Ordinal);

    // Headers that strangers do not choose. Those removed also have a minus.
    private readonly HashSet<string> _clean = new(StringComparer.OrdinalIgnoreCase);

    private CaddyTrust(CaddyPlace place, Visit? visit = null)
    {
        (_place, _visit) = (place, visit);
        if (FindBalancer(place) is not null)
            _chosen.UnionWith(["client_ip", "request.client_ip"]);
        if (place.SiteLines.Any(static line => Regex.IsMatch(line.Text, @"\bheader_regexp (?!.*\bHost\b)")))
            _chosen.UnionWith(["re", "regexp"]);
        // Caddy evaluates vars before request_header, and map after it.
        Spread("vars");
        foreach (var line in place.Beside.Where(static line => line.IsAny("request_header", "forward_auth")))
            Clean(line);
        Spread("map", "vars");
    }

    /// <summary>Whether the place is only for known addresses, or a line refuses the others.</summary>
    private bool IsClosed => Selection == Chance.Never
        || _place.SiteLines.Any(line => line.Is("bind") && line.Arguments.All(Stranger.IsLocal))
        || _place.FindClientAuth("require_and_verify") is not null
        || _place.Beside.Any(line => TestResponse(line) == Chance.Always);

    /// <summary>Whether a stranger meets the matchers of the place.</summary>
    private Chance Selection => _place.Pass.Around.SkipLast(2).Prepend(_place.Pass)
        .Aggregate(Chance.Always, (all, line) => Stranger.Both(all, Test(line)));

    private Chance Redirection => _place.Beside.Where(static line => line.Is("redir") && line.Text.Contains("https"))
        .Aggregate(Chance.Never, (any, line) => Stranger.Either(any, TestResponse(line)));

    /// <summary>Finds the line that trusts everybody's headers.</summary>
    public static Directive? FindBalancer(CaddyPlace place) => place.AllLines.FirstOrDefault(static line
        => line.Is("trusted_proxies") && Stranger.AreEverybody(line.Arguments));

    /// <summary>Finds lines that refuse strangers, but not all.</summary>
    public static IEnumerable<Seen> FindPassedGuards(CaddyPlace place)
        => place.IsGuard || place.Pass.Is("php_fastcgi") || new CaddyTrust(place).IsClosed ? [] : Guards.Find(place,
            place.SiteLines.Select(static line => line.Text),
            visit => new CaddyTrust(place, visit) is var trust
                ? place.Beside.FirstOrDefault(line => trust.TestResponse(line) == Chance.Always)
                : null,
            static (_, path) => $"@guarded path {path.TrimEnd('/')} {path.TrimEnd('/')}/* # for this line",
            "# in servers of the global options:\ntrusted_proxies static 192.0.2.10\n"
                + "# instead of the header:\n@outside not client_ip 203.0.113.0/24");

    /// <summary>Whether the matchers of a place may select a path.</summary>
    public static bool Gets(CaddyPlace place, string path)
        => new CaddyTrust(place, new(path)).Selection != Chance.Never;

    /// <summary>Finds lines by which clients choose a parameter, with its name.</summary>
    public static IEnumerable<Seen> FindChosen(CaddyPlace place)
    {
        if (new CaddyTrust(place) is not { IsClosed: false } trust)
            return [];
        var isSelected = trust.Selection == Chance.Chosen;
        return place.Parameters.Where(line => line.Arguments is [var name, var value, ..] && Stranger.Trusts(name)
                && (trust.IsOfClient(value) || (isSelected && value.Length > 0 && !value.Contains('{'))
                    || (IsConstantScheme(line) && place.IsPlain && trust.Redirection == Chance.Chosen)))
            .Concat(place.SiteLines.Where(line => line.IsAny("request_header", "header_up")
                && line.Arguments is ["Host", var host, ..] && trust.IsOfClient(host)))
            .Select(static line => Stranger.See(
                line, line.First!.Replace("Host", "HTTP_HOST", StringComparison.Ordinal)));
    }

    /// <summary>Finds a constant that claims https for requests that arrive over http.</summary>
    public static Directive? FindConstantScheme(CaddyPlace place)
        => place.IsPlain && new CaddyTrust(place) is { IsClosed: false, Redirection: Chance.Never } trust
            && trust.Selection != Chance.Chosen
            ? place.Parameters.FirstOrDefault(IsConstantScheme)
            : null;

    private static bool IsConstantScheme(Directive line)
        => line.Arguments is ["HTTPS" or "REQUEST_SCHEME", "on" or "1" or "https"];

    private static string[] SkipMatcher(Directive line)
        => [.. line.Arguments.SkipWhile(static word => word is ['@' or '/', ..] or "*")];

    private bool IsOfClient(string text)
        => s_header.Matches(text).Any(match => !_clean.Contains(match.Groups["header"].Value))
            || s_variable.Matches(text).Any(match => _chosen.Contains(match.Groups["name"].Value));

    private void Spread(params string[] names)
    {
        // A variable may have the value of one in a later line.
        for (var count = -1; count < _chosen.Count;)
        {
            count = _chosen.Count;
            foreach (var line in _place.SiteLines.Where(line => line.IsAny(names) && Test(line) != Chance.Never))
                _chosen.UnionWith(GetVariables(line));
        }
    }

    private IEnumerable<string> GetVariables(Directive line)
    {
        var words = SkipMatcher(line);
        var isSelected = Test(line) == Chance.Chosen;
        if (line.Is("map"))
            return isSelected || words.Take(1).Concat(line.Block.Select(static inner => inner.Text)).Any(IsOfClient)
                ? words.Skip(1).Select(static target => target.Trim('{', '}'))
                : [];
        return line.Block.Select(static inner => (string[])[inner.Name, .. inner.Arguments]).Prepend(words)
            .Where(words => words is [_, var value] && (isSelected || IsOfClient(value)))
            .Select(static words => words[0]);
    }

    /// <summary>Takes note of the headers that a line sets or removes.</summary>
    private void Clean(Directive line)
    {
        var (words, chance) = (SkipMatcher(line), Test(line));
        var copies = line.Block.Where(static inner => inner.Is("copy_headers"))
            .SelectMany(static inner => inner.Arguments.Concat(inner.Block.Select(static name => name.Text)));
        if (chance != Chance.Never && words.Skip(1).Any(IsOfClient))
            _clean.Remove(words[0]);
        else if (chance == Chance.Always && words.Length is 1 or 2)
            _clean.UnionWith(line.Is("forward_auth")
                ? copies.Select(static name => name.Split('>')[^1])
                : [words[0], words[0].TrimStart('-')]);
    }

    /// <summary>Whether a line responds to strangers before the place gets their requests.</summary>
    private Chance TestResponse(Directive line)
    {
        var step = _place.Pass.Around.Prepend(_place.Pass).First(block => block.Parent == line.Parent);
        var block = line.Parent!.Block;
        var isEarlier = block.IndexOf(line) < block.IndexOf(step);
        // Outside a route, Caddy sorts lines by their names.
        var isFirst = line.Parent.Is("route") ? isEarlier : line.Name switch
        {
            "redir" or "basicauth" or "basic_auth" or "forward_auth" => true,
            "handle" or "handle_path" => isEarlier || !step.IsAny("handle", "handle_path") || step.First is null or "*",
            "abort" or "error" or "respond" or "route" => step == _place.Pass,
            _ => false,
        };
        var responds = Responds(line)
            || (line.Block.Exists(inner => Responds(inner) && Test(inner) == Chance.Always) && !IsOfOthers(line));
        return line != step && isFirst && responds ? Test(line) : Chance.Never;
    }

    private bool Responds(Directive line) => _visit is null ? line.IsAny(s_responses)
        : line.IsAny(s_guards) || (line.Is("respond") && line.Arguments.Intersect(["401", "403", "404"]).Any());

    /// <summary>Whether a guarded block is not for this application.</summary>
    private bool IsOfOthers(Directive block) => _visit is not null && block.All.Any(static line
        => line.IsAny("reverse_proxy", "php_fastcgi", "file_server") && line.Find("transport", "fastcgi") is null);

    private Chance TestPath(string test, params string[] texts)
        => _visit?.Test(texts.Select(text => Guards.GetPattern(test, text))) ?? Chance.Open;

    /// <summary>The matcher of a line.</summary>
    private Chance Test(Directive line) => line.First switch
    {
        ['@', ..] name => line.Get(name) is { } matcher ? Test(matcher, matcher.Arguments) : Chance.Open,
        ['/', ..] path => TestPath("path", path),
        _ => Chance.Always,
    };

    /// <summary>The words of a matcher. Without words, the lines of its block must all be met.</summary>
    private Chance Test(Directive line, string[] words)
    {
        switch (words)
        {
            case []:
                return line.Block.Aggregate(Chance.Always, (all, inner)
                    => Stranger.Both(all, Test(inner, [inner.Name, .. inner.Arguments])));
            case ["not", .. var rest]:
                return Stranger.Negate(Test(line, rest));
            case ["path", .. var paths]:
                return TestPath("path", paths);
            case ["path_regexp", .., var pattern]:
                return TestPath("matches", pattern);
            case ["header" or "header_regexp", ..] when _visit?.HasHeader == false && words.Any(Guards.NamesAddress):
                return Chance.Never;
            case [_] or ["expression", ..]:
                return string.Join(' ', words.SkipWhile(static word => word == "expression")).Split("&&")
                    .Select(TestTerm).Aggregate(Stranger.Both);
        }

        var isForged = (words.Contains("forwarded") && _visit?.HasHeader != false)
            || (words[0] == "client_ip" && _chosen.Contains("client_ip"));
        if (s_ofAddress.Contains(words[0]) && !isForged)
            return Stranger.AreEverybody(words.Except(s_networks)) ? Chance.Always : Chance.Never;
        if (words.Any(word => _clean.Contains("-" + word)))
            return Chance.Never;
        return isForged || words.Any(IsOfClient) || (words[0] == "vars" && _chosen.Contains(words[1]))
            || (s_ofClient.Contains(words[0]) && !words.Any(word => word == "Host" || _clean.Contains(word)))
                ? Chance.Chosen
                : Chance.Open;
    }

    private Chance TestTerm(string term)
    {
        if (s_path.Match(term) is { Success: true, Groups: var parts })
            return TestPath(parts["test"].Value, parts["text"].Value) is var chance && parts["not"].Success
                ? Stranger.Negate(chance)
                : chance;
        if (term.Contains("remote_ip(") && !term.Contains("||"))
            return term.Contains('!') ? Chance.Always : Chance.Never;
        return IsOfClient(term) || Regex.IsMatch(term, @"\b(header(_regexp)?|query)\(") ? Chance.Chosen : Chance.Open;
    }
}
