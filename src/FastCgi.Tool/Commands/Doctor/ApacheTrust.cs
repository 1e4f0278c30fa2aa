namespace FastCgi.Tool.Commands.Doctor;

/// <summary>What a client can forge.</summary>
internal sealed class ApacheTrust
{
    private const RegexOptions IgnoreCase = RegexOptions.IgnoreCase;
    private const string Header = "HEADER";

    private static readonly Regex s_header = new(
        @"\b(req|http|req_novary)\s*\(\s*(['""]?)(?!host\b)[\w-]+\2\s*\)|"
        + @"%\{(HTTP:(?!host\b)[\w-]+|HTTP_(?!HOST\b)\w+|req:[\w-]+|QUERY_STRING)\}|"
        + @"\bHTTP_(COOKIE|REFERER|USER_AGENT)\b",
        IgnoreCase);
    private static readonly Regex s_variable = new(
        @"\b(?:reqenv|env)\s*\(\s*['""]?(?<name>[\w-]+)['""]?\s*\)|%\{(?:ENV|reqenv):(?<name>[\w-]+)\}", IgnoreCase);
    private static readonly Regex s_pattern = new(
        @"(?<==~\s*|!~\s*)(m?/(\\.|[^/\\])*/|m([#|!])(?:(?!\3).)*\3)\w*");
    private static readonly Regex s_word = new(
        @"\|\||&&|!(?![=~])|[()]|(?:'[^']*'|""[^""]*""|![=~]|[^|&!()'""]|[|&](?![|&]))+");
    private static readonly Regex s_flag = new(
        @"(?:^|[\[,])\s*(?:E|env)=(?<unset>!)?(?<name>\w+)(?::(?<value>[^,\]]*))?", IgnoreCase);
    private static readonly Regex s_or = new(@"\b(OR|ornext)\b", IgnoreCase);
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
    // The lines that set constants for each stranger, with their values.
    private readonly Dictionary<string, (Directive Line, string Value)> _constants = new(StringComparer.Ordinal);
    private readonly Directive? _forged;
    private readonly bool _isClosed;

    private ApacheTrust(ApachePlace place)
    {
        var networks = place.Visible.Where(static line => line.IsAny(s_balancers))
            .SelectMany(static line => line.Arguments).ToList();
        _forged = networks.Count == 0 || Stranger.AreEverybody(networks) ? place.FindGlobal("RemoteIPHeader") : null;
        var rules = place.Find("Require").ToList();
        _isClosed = (place.Host is { } host && host.Arguments.All(Stranger.IsLocal))
            || (!rules.Exists(static line => line.Is("Require", "all", "granted"))
                && rules.Exists(line => line.Arguments switch
                {
                    ["expr", .. var words] => TestExpression(string.Join(' ', words)) == Chance.Never,
                    ["local"] => _forged is null,
                    ["ip", .. var allowed] => _forged is null && !Stranger.AreEverybody(allowed),
                    _ => false,
                }));
        var lines = place.Visible.Where(line => place.Applies(line)
            && (!line.Is("RewriteRule") || place.IsOn("RewriteEngine"))).ToList();
        foreach (var line in s_order.SelectMany(name => lines.Where(line => line.Is(name))))
            Execute(line);
        // A header of the web server replaces the client's.
        if (lines.FindLast(static line => line.Is("RequestHeader") && line.Arguments is [_, var name, var value, ..]
            && name.Equals("Host", StringComparison.OrdinalIgnoreCase) && s_header.IsMatch(value)) is { } last)
            _chosen["HTTP_HOST"] = last;
    }

    /// <summary>Finds the <c>RemoteIPHeader</c> that everybody may set.</summary>
    public static Directive? FindBalancer(ApachePlace place)
        => place.IsWhole && new ApacheTrust(place) is { _isClosed: false } trust ? trust._forged : null;

    /// <summary>Finds lines by which clients choose a parameter, with its name.</summary>
    public static IEnumerable<Seen> FindChosen(ApachePlace place)
        => new ApacheTrust(place) is not { _isClosed: false } trust ? [] : trust._chosen
            .Where(static pair => Stranger.Trusts(pair.Key) && pair.Value is not null)
            .Select(static pair => Stranger.See(pair.Value!, pair.Key));

    /// <summary>Finds <c>HTTPS on</c> for requests that arrive over http.</summary>
    public static Directive? FindConstantScheme(ApachePlace place)
        => place.UsesTls || place.FindGlobal("RemoteIPHeader") is not null
            || place.Host?.Arguments.All(static address => address.EndsWith(":443", StringComparison.Ordinal)) == true
            || new ApacheTrust(place) is not { _isClosed: false } trust
            || trust._constants.GetValueOrDefault("HTTPS") is not (var line, ['o' or 'O', 'n' or 'N'] or "1")
                ? null
                : line;

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
        var condition = chance;
        foreach (var section in line.Around.Where(static section => section.IsAny("If", "ElseIf")))
            condition = Stranger.Both(condition, TestExpression(string.Join(' ', section.Arguments)));
        foreach (var word in words)
            Assign(line, word, condition);
    }

    private void Assign(Directive line, string word, Chance chance)
    {
        var name = word.Split('=')[0].TrimStart('!');
        var value = word[Math.Min(word.Length, word.IndexOf('=') + 1)..];
        var isLast = line.Is("ProxyFCGISetEnvIf");
        if (chance == Chance.Always)
            _constants[name] = (line, value);
        else if (chance != Chance.Never && !isLast)
            _constants.Remove(name);
        var isOfClient = chance == Chance.Chosen || s_header.IsMatch(value) || Uses(value);
        if (chance == Chance.Never || (!isLast && Stranger.Trusts(name) && !s_settable.IsMatch(name)))
            _chosen.TryAdd(name, null);
        else if (word[0] != '!' && isOfClient)
            _chosen[name] = line;
        else if (chance == Chance.Always)
            _chosen[name] = null;
    }

    private bool Uses(string text)
        => s_variable.Matches(text).Any(match => _chosen.GetValueOrDefault(match.Groups["name"].Value) is not null);

    /// <summary>Whether a header, an address, or a variable of <c>SetEnvIf</c> matches.</summary>
    private Chance TestSource(string source, string pattern)
    {
        if (source.Equals("Remote_Addr", StringComparison.OrdinalIgnoreCase))
            return _forged is not null ? Chance.Chosen : TestAddress(pattern);
        if (s_ofRequest.Contains(source, StringComparer.OrdinalIgnoreCase))
            return pattern is ".*" or ".+" or "." or "^" or "" ? Chance.Always : Chance.Open;
        // Variables that were set before have precedence over headers, which do not contain underscores.
        return (_chosen.TryGetValue(source, out var line) ? line is not null : !source.Contains('_'))
            ? Chance.Chosen
            : Chance.Open;
    }

    private static Chance TestAddress(string pattern)
        => Place.TryMatch(pattern, Stranger.Address) == true ? Chance.Always : Chance.Never;

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
        var isForged = _forged is not null && !subject.Contains("CONN_", StringComparison.Ordinal);
        if (!isForged && Regex.IsMatch(subject, "^%{(CONN_)?REMOTE_(ADDR|HOST)}$"))
            return pattern is ['!', .. var rest] ? Stranger.Negate(TestAddress(rest)) : TestAddress(pattern);
        return s_header.IsMatch(subject) || Uses(subject) ? Chance.Chosen : Chance.Open;
    }

    private Chance TestExpression(string text)
    {
        text = s_pattern.Replace(text, "RX");
        text = s_header.Replace(text, Header);
        text = s_variable.Replace(text, match => Uses(match.Value) ? Header : "OTHER");
        var words = s_word.Matches(text).Select(static match => match.Value.Trim());
        return Stranger.Test(words.Where(static word => word.Length > 0), Test);

        Chance Test(string atom)
        {
            if (atom.Contains(Header) || (_forged is not null && Regex.IsMatch(atom, "(?<!CONN_)REMOTE_(ADDR|HOST)")))
                return Chance.Chosen;
            if (atom.Equals("true", StringComparison.OrdinalIgnoreCase))
                return Chance.Always;
            if (!Regex.IsMatch(atom, @"\bREMOTE_(ADDR|HOST)|CONN_REMOTE_ADDR|(^|\s)-R\b"))
                return Chance.Open;
            var networks = Regex.Matches(atom, @"[\d.:a-f]+/\d+").Select(static match => match.Value);
            return atom.Contains('!') || Stranger.AreEverybody(networks) ? Chance.Always : Chance.Never;
        }
    }
}
