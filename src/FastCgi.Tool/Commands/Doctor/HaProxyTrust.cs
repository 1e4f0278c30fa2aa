namespace FastCgi.Tool.Commands.Doctor;

/// <summary>What a client can forge that reaches a server through one address of one frontend.</summary>
internal sealed class HaProxyTrust
{
    private static readonly Regex s_header = new(
        @"\b((req\.)?(f?hdr|hdrs)(_\w+)?\((?!host\b)(?<header>[\w-]*)|(req\.)?cook(_\w+)?\(|url_?p(aram)?(_\w+)?\(|"
        + @"capture\.req\.hdr\(|req\.hdrs\b)",
        RegexOptions.IgnoreCase);
    private static readonly Regex s_variable = new(@"\bvar\([\w.]+\)");
    private static readonly Regex s_set = new(@"^set-var(-fmt)?\((?<name>[\w.]+)");
    private static readonly Regex s_path = new(
        "^(?:path|pathq|url)(?:_(?<method>beg|end|sub|reg|dir))?(?<converters>(?:,url_dec|,lower)*)$");
    private static readonly Regex s_peer = new(@"(?<![\w.-])(fc_)?src\b(?!-)");

    private static readonly string[] s_refusals = ["deny", "reject", "tarpit", "silent-drop", "return"];

    private readonly Directive? _bind;
    private readonly Visit? _visit;
    private readonly List<Directive> _found = [];
    private readonly List<Directive> _constants = [];

    // Variables whose values clients choose, headers whose values they do not, and what has the address of the peer.
    private readonly HashSet<string> _chosen = [];
    private readonly HashSet<string> _clean = new(StringComparer.OrdinalIgnoreCase);
    private readonly HashSet<string> _absent = [];
    private readonly HashSet<string> _peers = ["src", "fc_src"];
    private readonly Chance _reached = Chance.Always;
    private Chance _refused;
    private Chance _redirected;
    private Directive? _guard;

    private HaProxyTrust(HaProxyPlace place, Directive frontend, Directive? bind, Visit? visit = null)
    {
        (_bind, _visit) = (bind, visit);
        HaProxyPlace.GetRules(frontend).ForEach(Apply);
        if (visit is not null)
            _guard ??= frontend.Block.Find(line => line.Is("use_backend") && place.LeadsToRefusal(line)
                && Test(line) == Chance.Always);
        if (frontend != place.Backend)
        {
            _reached = TestBackend(place, frontend);
            HaProxyPlace.GetRules(place.Backend).ForEach(Apply);
        }

        place.Application?.Block.FindAll(static line => line.Is("set-param")).ForEach(SetParameter);
    }

    private bool? IsTls => _bind?.Arguments.Contains("ssl");
    private bool IsProxied => _bind?.Arguments.Contains("accept-proxy") == true;
    private bool IsOpen => _reached != Chance.Never && _refused != Chance.Always && _redirected != Chance.Always;

    /// <summary>Finds the line that takes the address from a header of any client.</summary>
    public static Directive? FindBalancer(HaProxyPlace place) => Open(place).SelectMany(static trust => trust._found)
        .FirstOrDefault(static line => GetAction(line) == "set-src");

    /// <summary>Finds the line that takes the address from the PROXY protocol of any client.</summary>
    public static Directive? FindProxied(HaProxyPlace place)
        => Open(place).FirstOrDefault(static trust => trust.IsProxied)?._bind;

    /// <summary>Finds lines by which clients choose a parameter, with its name.</summary>
    public static IEnumerable<Seen> FindChosen(HaProxyPlace place) => Open(place)
        .SelectMany(static trust => trust._found).Distinct().Where(static line => Stranger.Trusts(GetParameter(line)))
        .Select(static line => Stranger.See(line, GetParameter(line)!));

    /// <summary>Finds rules that refuse strangers, but not all.</summary>
    public static IEnumerable<Seen> FindPassedGuards(HaProxyPlace place)
        => place.Application?.Block.Exists(static line => line.Text.Contains("php")) == true ? []
            : from door in FindDoors(place)
              from seen in Guards.Find(place,
                  place.Frontends.Append(place.Backend).SelectMany(HaProxyPlace.GetLines)
                      .Select(static line => line.Text),
                  visit => new HaProxyTrust(place, door.Frontend, door.Bind, visit)._guard,
                  static (_, path) => $$"""
                      # instead of the test of the path:
                      { path,url_dec,lower -m reg {{Guards.GetPatternBelow(path)}} }
                      # before this line:
                      http-request deny if { path,url_dec -m reg /\.\.?(/|$) }
                      """,
                  "# before this line; then test src instead of the header:\n"
                      + "http-request set-src req.hdr_ip(X-Forwarded-For,-1) if { src 192.0.2.10 }")
              select seen;

    /// <summary>Finds a constant that claims https for requests that arrive over http.</summary>
    public static Directive? FindConstantScheme(HaProxyPlace place)
        => GetRules(place).Any(static line => GetAction(line) == "set-src") ? null : Open(place)
            .Where(static trust => trust is { IsTls: false, _redirected: Chance.Never })
            .SelectMany(static trust => trust._constants).FirstOrDefault();

    /// <summary>Finds a user whose password no rule checks.</summary>
    public static Directive? FindUnverified(HaProxyPlace place)
        => GetRules(place).Any(static line => GetAction(line) == "auth" || line.Text.Contains("http_auth(")) ? null
            : place.Application?.Block.Find(static line
                => Regex.IsMatch(line.Text, @"^set-param REMOTE_USER \S*http_auth_user\S*$"));

    /// <summary>Finds a <c>retry-on</c> that may repeat a POST which the application has executed.</summary>
    public static Directive? FindRetry(HaProxyPlace place) => HaProxyPlace.Get(place.Backend, "retry-on") is { } line
        && line.Arguments.Any(static reason => reason is "all-retryable-errors" or "empty-response" or "junk-response"
            or "response-timeout" or "500" or "502" or "504")
        && !GetRules(place).Any(static rule => GetAction(rule) == "disable-l7-retry") ? line : null;

    /// <summary>The addresses of frontends by which strangers reach the server.</summary>
    private static IEnumerable<(Directive Frontend, Directive? Bind)> FindDoors(HaProxyPlace place)
        => from frontend in place.Frontends.DefaultIfEmpty(place.Backend)
           from bind in frontend.Block.FindAll(static line => line.Is("bind")).DefaultIfEmpty()
           where !Stranger.IsLocal(bind?.First ?? "")
           select (frontend, bind);

    private static IEnumerable<HaProxyTrust> Open(HaProxyPlace place) => FindDoors(place)
        .Select(door => new HaProxyTrust(place, door.Frontend, door.Bind)).Where(static trust => trust.IsOpen);

    private static IEnumerable<Directive> GetRules(HaProxyPlace place)
        => place.Frontends.Append(place.Backend).SelectMany(HaProxyPlace.GetRules);

    private static string GetAction(Directive line) => line.Name switch
    {
        "redirect" => line.Name,
        "tcp-request" => line.Arguments.ElementAtOrDefault(1) ?? "",
        _ => line.First ?? "",
    };

    private static string? GetParameter(Directive line)
    {
        if (line.Is("set-param"))
            return line.First;
        return line.Is(line.Name, "set-header", "Host") ? "HTTP_HOST" : null;
    }

    private static string GetValue(Directive line) => line.Text.Split(" if ")[0].Split(" unless ")[0];

    /// <summary>Whether a frontend sends the requests of a stranger to the server.</summary>
    private Chance TestBackend(HaProxyPlace place, Directive frontend)
    {
        var leads = frontend.Block.Where(static line => line.Is("use_backend")).ToLookup(place.LeadsHere, Test);
        if (place.LeadsHere(HaProxyPlace.Get(frontend, "default_backend")))
            return leads[false].Contains(Chance.Always) ? Chance.Never : Chance.Always;
        return leads[true].Aggregate(Chance.Never, Stranger.Either);
    }

    private void SetParameter(Directive line)
    {
        var isScheme = line.Arguments is ["HTTPS" or "REQUEST_SCHEME", "on" or "1" or "https", ..];
        var reached = isScheme && _redirected == Chance.Chosen ? Chance.Chosen : _reached;
        if (IsChosen(line, Stranger.Both(Test(line), reached)) && !(isScheme && IsTls == true))
            _found.Add(line);
        else if (isScheme && line.Arguments.Length == 2)
            _constants.Add(line);
    }

    private void Apply(Directive line)
    {
        var (action, chance) = (GetAction(line), Test(line));
        var isChosen = IsChosen(line, chance);
        if (isChosen)
            _found.Add(line);
        if (_visit is not null && chance == Chance.Always
            && (action == "return" ? line.Text.Contains("status 4") : s_refusals.Append("auth").Contains(action)))
            _guard ??= line;
        if (s_refusals.Contains(action))
            _refused = Stranger.Either(_refused, chance);
        else if (action == "redirect" && GetValue(line).Contains("https"))
            _redirected = Stranger.Either(_redirected, chance);
        else if (action == "set-src" && isChosen)
            _peers.Remove("src");

        var name = s_set.Match(action).Groups["name"].Value;
        if (name.Length > 0 && _peers.Contains(GetValue(line).Split(' ')[^1]))
            _peers.Add($"var({name})");
        if (name.Length > 0 && _visit is { HasHeader: false } && isChosen && Guards.NamesAddress(GetValue(line)))
            _absent.Add($"var({name})");
        var isSure = isChosen || chance == Chance.Always;
        if (isSure && name.Length > 0)
            _ = isChosen ? _chosen.Add($"var({name})") : _chosen.Remove($"var({name})");
        else if (isSure && action is "set-header" or "del-header" && line.Arguments.Length > 1)
            _ = isChosen ? _clean.Remove(line.Arguments[1]) : _clean.Add(line.Arguments[1]);
    }

    private bool IsChosen(Directive line, Chance chance)
        => chance == Chance.Chosen || (chance != Chance.Never && IsOfClient(GetValue(line)));

    private bool IsOfClient(string text)
        => s_header.Matches(text).Any(match => !_clean.Contains(match.Groups["header"].Value))
            || s_variable.Matches(text).Any(match => _chosen.Contains(match.Value))
            || s_peer.Matches(text).Any(match => !_peers.Contains(match.Value));

    /// <summary>The condition of a line.</summary>
    private Chance Test(Directive line)
    {
        if (IsProxied && !line.Is("tcp-request", "connection"))
            _peers.Remove("src");
        var index = Array.FindIndex(line.Arguments, static word => word is "if" or "unless");
        if (index < 0)
            return Chance.Always;
        var chance = Stranger.Test(Group(line.Arguments[(index + 1)..]), atom => TestAtom(line, atom));
        return line.Arguments[index] == "if" ? chance : Stranger.Negate(chance);
    }

    /// <summary>Joins the words of an anonymous condition.</summary>
    private static IEnumerable<string> Group(string[] words)
    {
        for (var i = 0; i < words.Length; i++)
        {
            var word = words[i];
            if (word is ['!', _, ..])
            {
                yield return "!";
                word = word[1..];
            }

            var end = word == "{" ? Array.IndexOf(words, "}", i) : -1;
            yield return end < 0 ? word : string.Join(' ', words[(i + 1)..end]);
            i = Math.Max(i, end);
        }
    }

    private Chance TestAtom(Directive line, string atom)
    {
        var words = atom.Split(' ');
        if (words.Length > 1)
            return TestFetch(words);
        var tests = HaProxyPlace.GetLines(line.Parent!)
            .Where(acl => acl.Is("acl", atom) && acl.Arguments.Length > 1).ToList();
        return tests.Count == 0
            ? TestFetch(words)
            : tests.Select(acl => TestFetch(acl.Arguments[1..])).Aggregate(Stranger.Either);
    }

    private Chance TestFetch(string[] words)
    {
        var fetch = words[0].Split(',')[0];
        if (_visit is not null && TestVisit(_visit, words) is { } known)
            return known;
        if (IsOfClient(words[0]))
            return Chance.Chosen;
        if (_peers.Contains(fetch))
            return Stranger.AreEverybody(words) ? Chance.Always : Chance.Never;
        return fetch switch
        {
            "always_true" or "TRUE" => Chance.Always,
            "always_false" or "FALSE" or "LOCALHOST" => Chance.Never,
            "ssl_fc" when IsTls is { } isTls => isTls ? Chance.Always : Chance.Never,
            _ => Chance.Open,
        };
    }

    /// <summary>What is known of a request with a path; <see langword="null"/> if nothing.</summary>
    private Chance? TestVisit(Visit visit, string[] words)
    {
        if (words[0].StartsWith("http_auth", StringComparison.Ordinal) || _absent.Contains(words[0])
            || (!visit.HasHeader && Guards.NamesAddress(words[0]) && IsOfClient(words[0])))
            return Chance.Never;
        var fetch = s_path.Match(words[0]);
        if (!fetch.Success || words.Contains("-f"))
            return null;

        var converters = fetch.Groups["converters"].Value;
        var text = converters.Contains("url_dec") ? visit.DecodedPath : visit.Path;
        var flag = Array.IndexOf(words, "-m");
        var method = flag < 0 ? fetch.Groups["method"].Value : words.ElementAtOrDefault(flag + 1);
        return Guards.Test(converters.Contains("lower") ? text.ToLowerInvariant() : text,
            words.Where((word, index) => index > 0 && word[0] != '-' && (flag < 0 || index != flag + 1))
                .Select(word => (words.Contains("-i") ? "(?i)" : "") + Guards.GetPattern(method, word)));
    }
}
