namespace FastCgi.Tool.Commands.Doctor;

/// <summary>What a client can forge.</summary>
internal sealed class ApacheTrust
{
    private const RegexOptions IgnoreCase = RegexOptions.IgnoreCase;
    private const string Header = "HEADER";
    private const string Absent = "ABSENT";

    private static readonly Regex s_header = new(
        @"\b(req|http|req_novary)\s*\(\s*(['""]?)(?!host\b)(?<name>[\w-]+)\2\s*\)|"
        + @"%\{(HTTP:(?!host\b)(?<name>[\w-]+)|HTTP_(?!HOST\b)\w+|req:(?<name>[\w-]+)|QUERY_STRING)\}|"
        + @"\bHTTP_(COOKIE|REFERER|USER_AGENT)\b",
        IgnoreCase);
    private static readonly Regex s_variable = new(
        @"\b(?:reqenv|env)\s*\(\s*['""]?(?<name>[\w-]+)['""]?\s*\)|%\{(?:ENV|reqenv):(?<name>[\w-]+)\}", IgnoreCase);
    private static readonly Regex s_pattern = new(
        @"(?<==~\s*|!~\s*)(m?/(\\.|[^/\\])*/|m([#|!])(?:(?!\3).)*\3)\w*");
    private static readonly Regex s_uri = new(
        @"%\{REQUEST_URI\}\s*(?<operator>=~|!~|==|!=)\s*"
        + @"(?:m?(?<mark>[/#|!])(?<text>.*?)\k<mark>(?<flags>i?)|'(?<text>[^']*)')");
    private static readonly Regex s_word = new(
        @"\|\||&&|!(?![=~])|[()]|(?:'[^']*'|""[^""]*""|![=~]|[^|&!()'""]|[|&](?![|&]))+");
    private static readonly Regex s_flag = new(
        @"(?:^|[\[,])\s*(?:E|env)=(?<unset>!)?(?<name>\w+)(?::(?<value>[^,\]]*))?", IgnoreCase);
    private static readonly Regex s_noCase = new(@"\b(NC|nocase)\b");
    private static readonly Regex s_or = new(@"\b(OR|ornext)\b", IgnoreCase);
    private static readonly Regex s_comparison = new(
        @"^['""]?([\w.-]*)['""]? ?(==?|!=|-eq|-ne) ?['""]?([\w.-]*)['""]?$");
    // Apache itself sets the others after these directives.
    private static readonly Regex s_settable = new("^(HTTPS|REMOTE_USER|AUTH_TYPE|PATH_BASE|SSL_\\w+)$");

    private static readonly string[] s_ofRequest =
        ["Remote_Host", "Server_Addr", "Request_Method", "Request_Protocol", "Request_URI", "Host"];

    private static readonly string[] s_balancers =
        ["RemoteIPInternalProxy", "RemoteIPTrustedProxy", "RemoteIPInternalProxyList", "RemoteIPTrustedProxyList"];

    private static readonly string[] s_order =
        ["SetEnvIf", "SetEnvIfNoCase", "SetEnvIfExpr", "BrowserMatch", "BrowserMatchNoCase", "RewriteRule", "SetEnv",
        "ProxyFCGISetEnvIf"];

    // The last line by which a client chooses a variable; null for one that no client chooses.
    private readonly Dictionary<string, Directive?> _chosen = new(StringComparer.Ordinal);
    // The lines that set constants for each stranger, with their values, which are empty for what no stranger has.
    private readonly Dictionary<string, (Directive Line, string Value)> _constants = new(StringComparer.Ordinal);
    private readonly Directive? _forged;
    private readonly Visit? _visit;
    private readonly List<Directive> _lines;

    // Headers that Apache removes before the line.
    private readonly HashSet<string> _unset = new(StringComparer.OrdinalIgnoreCase);
    private readonly Chance _isRefused;
    private readonly bool _isClosed;
    private Directive? _rule;

    private ApacheTrust(ApachePlace place, Visit? visit = null)
    {
        _visit = visit;
        var networks = place.Visible.Where(static line => line.IsAny(s_balancers))
            .SelectMany(static line => line.Arguments).ToList();
        _forged = networks.Count == 0 || Stranger.AreEverybody(networks) ? place.FindGlobal("RemoteIPHeader") : null;
        _lines = [.. place.Visible.Where(line => place.Applies(line)
            && (!line.Is("RewriteRule") || place.IsOn("RewriteEngine")))];
        Unset(isEarly: true);
        foreach (var line in s_order.SelectMany(name => _lines.Where(line => line.Is(name))))
            Execute(line);
        // A header of the web server replaces the client's.
        if (_lines.FindLast(line => line.Is("RequestHeader") && line.Arguments is [_, var name, var value, ..]
            && name.Equals("Host", StringComparison.OrdinalIgnoreCase) && IsOfHeader(value)) is { } last)
            _chosen["HTTP_HOST"] = last;

        _isRefused = Any(_lines.Select(TestRefusal));
        _isClosed = _isRefused == Chance.Always
            || (TestAccess(place) == Chance.Never
                && !place.Find("Satisfy").Any(static line => line.Is("Satisfy", "any")))
            || (place.Host is { } host && host.Arguments.All(Stranger.IsLocal))
            || (place.UsesTls && place.Find("SSLVerifyClient").LastOrDefault() is { First: "require" });
        // Other headers are removed later than conditions are tested.
        Unset(isEarly: false);
        _lines.FindAll(static line => line.Is("ProxyFCGISetEnvIf")).ForEach(Execute);
    }

    /// <summary>Finds the <c>RemoteIPHeader</c> that everybody may set.</summary>
    public static Directive? FindBalancer(ApachePlace place)
        => place.IsWhole && new ApacheTrust(place) is { _isClosed: false } trust ? trust._forged : null;

    /// <summary>Finds lines by which clients choose a parameter, with its name.</summary>
    public static IEnumerable<Seen> FindChosen(ApachePlace place)
        => new ApacheTrust(place) is not { _isClosed: false } trust ? [] : trust._chosen
            // A header decides which requests get the constant.
            .Append(new("HTTPS", trust._isRefused == Chance.Chosen ? FindHttps(trust, place) : null))
            .Where(static pair => Stranger.Trusts(pair.Key) && pair.Value is not null)
            .Select(static pair => Stranger.See(pair.Value!, pair.Key) with { Fix = FindFix(pair.Key) });

    /// <summary>Finds <c>HTTPS on</c> for requests that arrive over http.</summary>
    public static Directive? FindConstantScheme(ApachePlace place)
        => new ApacheTrust(place) is { _isClosed: false, _isRefused: not Chance.Chosen } trust
            ? FindHttps(trust, place)
            : null;

    private static Directive? FindHttps(ApacheTrust trust, ApachePlace place)
        => place.UsesTls || place.FindGlobal("RemoteIPHeader") is not null
            || place.Host?.Arguments.All(static address => address.EndsWith(":443", StringComparison.Ordinal)) == true
            || trust._constants.GetValueOrDefault("HTTPS") is not (var line, ['o' or 'O', 'n' or 'N'] or "1")
                ? null
                : line;

    private static string? FindFix(string parameter) => parameter switch
    {
        "HTTPS" => null,
        "REMOTE_ADDR" => "# instead of this line:\nRemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 192.0.2.10",
        _ => "# remove this line, or let only the load balancer choose:\n"
            + $"ProxyFCGISetEnvIf \"%{{CONN_REMOTE_ADDR}} != '192.0.2.10'\" !{parameter}",
    };

    /// <summary>Finds lines that refuse strangers, but not all.</summary>
    public static IEnumerable<Seen> FindPassedGuards(ApachePlace place)
        => place.IsOfScripts || !place.IsWhole || place.Find("Satisfy").Any() || new ApacheTrust(place)._isClosed ? []
            : Guards.Find(place, place.Visible.Select(static line => line.Text),
                visit => new ApacheTrust(place, visit).FindGuard(place),
                static (guard, path) => string.Format(CultureInfo.InvariantCulture,
                    IsLocation(guard) ? "<LocationMatch \"(?i){0}\">" : "# use the pattern \"(?i){0}\"",
                    Guards.Widen(guard, path)),
                "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 192.0.2.10\n"
                    + "# instead of the condition for the header:\nRequire ip 203.0.113.0/24");

    private Directive? FindGuard(ApachePlace place)
    {
        var path = _visit!.DecodedPath;
        var guard = _lines.Find(line => line switch
        {
            { Arguments: [['4', _, _], var pattern, ..] } when line.Is("RedirectMatch")
                => TestText(path, pattern) == Chance.Always,
            { Arguments: [var pattern, "-", var flags] } when line.Is("RewriteRule") => ApacheReach.IsRefusal(flags)
                && TestText(path, IgnoresCase(flags, pattern)) == Chance.Always
                && Stranger.Both(TestRules(line), TestSections(line)) == Chance.Always,
            _ => false,
        });
        if (guard is not null || TestAccess(place) != Chance.Never)
            return guard;
        return _rule?.Parent is { } section && IsLocation(section) ? section : _rule;
    }

    /// <summary>Whether a section contains requests of the place, or the request of the visit.</summary>
    private bool IsAround(ApachePlace place, Directive section)
    {
        if (section.IsAny("Files", "FilesMatch") && !place.Pass.Around.Contains(section))
            return place.IsFile && ApacheReach.Covers(section, _visit?.DecodedPath ?? "/x");
        if (_visit is null || !IsLocation(section) || section.Find("SetHandler") is not null)
            return place.IsAround(section);
        return section.Is("Location") && section.First != "~"
            ? Place.IsBelow(_visit.DecodedPath, section.First ?? "")
            : ApacheReach.Covers(section, _visit.DecodedPath);
    }

    private static bool IsLocation(Directive section)
        => section.Name.StartsWith("Location", StringComparison.OrdinalIgnoreCase);

    /// <summary>Takes note of headers that no client can send.</summary>
    private void Unset(bool isEarly) => _unset.UnionWith(_lines.Where(line => line.Is("RequestHeader", "unset")
        && TestSections(line) == Chance.Always
        && (isEarly ? line.Arguments is [_, _, "early"] : line.Arguments.Length == 2))
        .Select(static line => line.Arguments[1]));

    private bool IsAbsent(string header)
        => _unset.Contains(header) || (_visit?.HasHeader == false && Guards.NamesAddress(header));

    private bool IsOfHeader(string text)
        => s_header.Matches(text).Any(match => !_unset.Contains(match.Groups["name"].Value));

    private static string IgnoresCase(string flags, string pattern)
    {
        if (!s_noCase.IsMatch(flags))
            return pattern;
        return pattern.StartsWith('!') ? "!(?i)" + pattern[1..] : "(?i)" + pattern;
    }

    private void Execute(Directive line)
    {
        var (chance, words) = line switch
        {
            { Arguments: [_, _, var flags, ..] } when line.Is("RewriteRule") => (TestRules(line),
                s_flag.Matches(flags).Select(static match => $"{match.Groups["unset"]}{match.Groups["name"]}="
                    + match.Groups["value"])),
            { Arguments: [var test, var name, ..] } when line.Is("ProxyFCGISetEnvIf")
                => (TestExpression(test), [$"{name}={line.Arguments.ElementAtOrDefault(2)}"]),
            { Name: ['B' or 'b', ..], Arguments: [_, .. var sets] } => (Chance.Chosen, sets),
            { Arguments: [var test, .. var sets] } when line.Is("SetEnvIfExpr")
                => (TestExpression(test), sets),
            { Arguments: [var source, var pattern, .. var sets] } when line.IsAny("SetEnvIf", "SetEnvIfNoCase")
                => (TestSource(source, pattern), sets),
            { Arguments: [var name, .. var values] } when line.Is("SetEnv")
                => (Chance.Always, [$"{name}={string.Join(' ', values)}"]),
            _ => (Chance.Never, (IEnumerable<string>)[]),
        };
        var condition = Stranger.Both(chance, TestSections(line));
        foreach (var word in words)
            Assign(line, word, condition);
    }

    private void Assign(Directive line, string word, Chance chance)
    {
        var name = word.Split('=')[0].TrimStart('!');
        var value = word.Split('=', 2) is [_, var text] ? text : "1";
        var isLast = line.Is("ProxyFCGISetEnvIf");
        if (chance == Chance.Always)
            _constants[name] = (line, word.StartsWith('!') ? "" : value);
        else if (chance == Chance.Never)
            _constants.TryAdd(name, (line, ""));
        else if (!isLast)
            _constants.Remove(name);
        var isOfClient = chance == Chance.Chosen || IsOfHeader(value) || Uses(value);
        if (chance == Chance.Never || (!isLast && Stranger.Trusts(name) && !s_settable.IsMatch(name)))
            _chosen.TryAdd(name, null);
        else if (word[0] != '!' && isOfClient)
            _chosen[name] = line;
        else if (chance == Chance.Always)
            _chosen[name] = null;
    }

    /// <summary>Whether strangers are allowed. The last section with rules replaces those before it.</summary>
    private Chance TestAccess(ApachePlace place)
    {
        var rules = FindRules("Require", "RequireAll", "RequireAny", "RequireNone");
        var lines = FindRules("Order", "Allow", "Deny");
        _rule = rules.Concat(lines).LastOrDefault();
        var isOpen = lines.Exists(static line => line.Is("Order", "allow,deny") || line.Is("Deny", "from", "all"))
            ? Any(lines.Where(static line => line.Is("Allow")).SelectMany(static line => line.Arguments.Skip(1))
                .Select(host => host is ['e', 'n', 'v', '=', .. var name] ? TestVariable(name) : TestNetworks([host])))
            : Chance.Always;
        return rules.Count > 0 ? Stranger.Both(Any(rules.Select(TestRule)), isOpen) : isOpen;

        List<Directive> FindRules(params string[] names)
            => place.Visible.Where(line => line.IsAny(names)
                    && line.Around.SkipLast(1).All(section => IsAround(place, section))
                    && line.Around.All(section
                        => !section.IsAny("Directory", "DirectoryMatch") || place.Pass.Around.Contains(section))
                    && TestSections(line) == Chance.Always)
                .GroupBy(static line => line.Around.First(static block => !block.IsAny("IfModule", "IfVersion")))
                // A location is merged after other sections, and a condition at the end.
                .OrderBy(static section => section.Key.Is("If"))
                .ThenBy(static section => section.Key.Name.StartsWith("Location", StringComparison.OrdinalIgnoreCase))
                .LastOrDefault()?.ToList() ?? [];
    }

    private Chance TestRule(Directive rule) => (rule.Name.ToLowerInvariant(), rule.Arguments) switch
    {
        ("requireall", _) => rule.Block.Select(TestRule).Aggregate(Chance.Always, Stranger.Both),
        ("requireany", _) => Any(rule.Block.Select(TestRule)),
        (_, ["all", var answer]) => answer == "granted" ? Chance.Always : Chance.Never,
        (_, ["expr", .. var text]) => TestExpression(string.Join(' ', text)),
        (_, ["env", .. var names]) => Any(names.Select(TestVariable)),
        (_, ["local"] or ["host" or "forward-dns", ..]) => TestNetworks([]),
        (_, ["ip", .. var networks]) => TestNetworks(networks),
        (_, ["not" or "method", ..]) => Chance.Open,
        _ => _visit is null ? Chance.Open : Chance.Never,
    };

    private Chance TestNetworks(string[] networks) => (Stranger.AreEverybody(networks), _forged) switch
    {
        (true, _) => Chance.Always,
        (_, null) => Chance.Never,
        _ => Chance.Chosen,
    };

    /// <summary>Whether a variable is set.</summary>
    private Chance TestVariable(string name)
    {
        if (_chosen.GetValueOrDefault(name) is not null)
            return Chance.Chosen;
        if (!_constants.TryGetValue(name, out var constant))
            return Chance.Open;
        return constant.Value.Length > 0 ? Chance.Always : Chance.Never;
    }

    private static Chance Any(IEnumerable<Chance> all) => all.Aggregate(Chance.Never, Stranger.Either);

    /// <summary>Whether the sections around a line apply to all methods.</summary>
    private Chance TestSections(Directive line) => line.Around.Select(section => section.Name.ToLowerInvariant() switch
    {
        "if" or "elseif" => TestExpression(string.Join(' ', section.Arguments)),
        "else" => Stranger.Negate(TestExpression(string.Join(' ', section.Parent!.Block
            .TakeWhile(block => block != section).LastOrDefault(static block => block.Is("If"))?.Arguments ?? []))),
        "limit" or "limitexcept" => Chance.Open,
        _ => Chance.Always,
    }).Aggregate(Chance.Always, Stranger.Both);

    /// <summary>Whether a line refuses all requests, or redirects them to https.</summary>
    private Chance TestRefusal(Directive line)
        => line.Is("RewriteRule") && line.Arguments is [var pattern, var target, .. var flags]
            && Place.Everything.IsMatch(pattern) && Stranger.Both(TestRules(line), TestSections(line)) is var chance
            && (target.StartsWith("https:", StringComparison.Ordinal)
                || (chance == Chance.Always && flags.Any(ApacheReach.IsRefusal)))
                ? chance
                : Chance.Never;

    private bool Uses(string text)
        => s_variable.Matches(text).Any(match => _chosen.GetValueOrDefault(match.Groups["name"].Value) is not null);

    /// <summary>Whether a header, an address, or a variable of <c>SetEnvIf</c> matches.</summary>
    private Chance TestSource(string source, string pattern)
    {
        if (source.Equals("Remote_Addr", StringComparison.OrdinalIgnoreCase))
            return _forged is not null ? Chance.Chosen : TestText(Stranger.Address, pattern);
        if (_visit is not null && source.Equals("Request_URI", StringComparison.OrdinalIgnoreCase))
            return TestText(_visit.DecodedPath, pattern);
        if (IsAbsent(source))
            return TestText("", pattern);
        if (s_ofRequest.Contains(source, StringComparer.OrdinalIgnoreCase))
            return pattern is ".*" or ".+" or "." or "^" or "" ? Chance.Always : Chance.Open;
        // Variables that were set before have precedence over headers, which do not contain underscores.
        return (_chosen.TryGetValue(source, out var line) ? line is not null : !source.Contains('_'))
            ? Chance.Chosen
            : Chance.Open;
    }

    private static Chance TestText(string text, string pattern) => pattern switch
    {
        ['!', .. var rest] => Stranger.Negate(TestText(text, rest)),
        ['=', .. var literal] => text == literal ? Chance.Always : Chance.Never,
        _ => Place.TryMatch(pattern, text) == true ? Chance.Always : Chance.Never,
    };

    /// <summary>The conditions of a <c>RewriteRule</c>, of which <c>[OR]</c> joins neighbors.</summary>
    private Chance TestRules(Directive rule)
    {
        var lines = rule.Parent!.Block;
        var conditions = lines.Take(lines.IndexOf(rule)).Reverse().TakeWhile(static line => line.Is("RewriteCond"))
            .Reverse().Where(static line => line.Arguments.Length > 1).ToList();
        List<string> words = ["("];
        foreach (var (index, line) in conditions.Index())
        {
            var isOr = line.Arguments is [_, _, var flags] && s_or.IsMatch(flags);
            words.AddRange(isOr ? [$"{index}", "||"] : [$"{index}", ")", "("]);
        }

        return Stranger.Test(words.Append(")"),
            word => TestCondition(conditions[int.Parse(word, CultureInfo.InvariantCulture)]));
    }

    private Chance TestCondition(Directive condition)
    {
        var (subject, pattern) = (condition.Arguments[0], condition.Arguments[1]);
        if (subject == "expr")
            return TestExpression(pattern);
        if (_visit is not null && subject == "%{REQUEST_URI}")
            return TestText(_visit.DecodedPath,
                IgnoresCase(condition.Arguments.ElementAtOrDefault(2) ?? "", pattern));
        if (IsAbsent(subject))
            return TestText("", pattern);
        var isForged = _forged is not null && !subject.Contains("CONN_", StringComparison.Ordinal);
        if (!isForged && Regex.IsMatch(subject, "^%{(CONN_)?REMOTE_(ADDR|HOST)}$"))
            return TestText(Stranger.Address, pattern);
        if (IsOfHeader(subject) || Uses(subject))
            return Chance.Chosen;
        return s_variable.Match(subject) is { Success: true, Groups: var groups } && groups[0].Value == subject
            && _constants.TryGetValue(groups["name"].Value, out var constant)
                ? TestText(constant.Value, pattern)
                : Chance.Open;
    }

    private Chance TestExpression(string text)
    {
        if (_visit is not null)
            text = s_uri.Replace(text, match => (match.Groups["operator"].ValueSpan[0] == '!' ? "!" : "") + _visit.Test(
                match.Groups["flags"].Value.Replace("i", "(?i)")
                    + Guards.GetPattern(match.Groups["operator"].Value, match.Groups["text"].Value)));
        text = s_pattern.Replace(text, "RX");
        text = s_header.Replace(text, match => IsAbsent(match.Groups["name"].Value) ? Absent : Header);
        text = s_variable.Replace(text, match => TestVariable(match.Groups["name"].Value) switch
        {
            Chance.Chosen => Header,
            Chance.Open => "?",
            _ => $"'{_constants[match.Groups["name"].Value].Value}'",
        });
        var words = s_word.Matches(text).Select(static match => match.Value.Trim());
        return Stranger.Test(words.Where(static word => word.Length > 0), Test);

        Chance Test(string atom)
        {
            if (atom.Contains(Header) || (_forged is not null && Regex.IsMatch(atom, "(?<!CONN_)REMOTE_(ADDR|HOST)")))
                return Chance.Chosen;
            if (atom is "Always" || atom.Equals("true", StringComparison.OrdinalIgnoreCase))
                return Chance.Always;
            if (atom is "Never" || atom.Contains(Absent))
                return Regex.IsMatch(atom, "![=~]") ? Chance.Always : Chance.Never;
            if (s_comparison.Match(atom) is { Success: true, Groups: var parts })
                return TestText(parts[1].Value, (parts[2].Value is "!=" or "-ne" ? "!=" : "=") + parts[3].Value);
            if (!Regex.IsMatch(atom, @"\bREMOTE_(ADDR|HOST)|CONN_REMOTE_ADDR|(^|\s)-R\b"))
                return Chance.Open;
            var networks = Regex.Matches(atom, @"[\d.:a-f]+/\d+").Select(static match => match.Value);
            return atom.Contains('!') || Stranger.AreEverybody(networks) ? Chance.Always : Chance.Never;
        }
    }
}
