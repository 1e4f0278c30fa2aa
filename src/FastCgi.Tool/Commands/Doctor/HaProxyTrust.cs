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
    private static readonly Regex s_peer = new(@"(?<![\w.-])(fc_)?src\b(?!-)");

    private static readonly string[] s_refusals = ["deny", "reject", "tarpit", "silent-drop", "return"];

    private readonly bool? _isTls;
    private readonly List<Directive> _found = [];
    private readonly List<Directive> _constants = [];

    // Variables whose values clients choose, and headers whose values they do not.
    private readonly HashSet<string> _chosen = new(StringComparer.Ordinal);
    private readonly HashSet<string> _clean = new(StringComparer.OrdinalIgnoreCase);

    // What has the address of the peer.
    private readonly HashSet<string> _peers = ["src", "fc_src"];

    private Directive? _proxied;
    private Chance _reached = Chance.Always;
    private Chance _refused;
    private Chance _redirected;

    private HaProxyTrust(HaProxyPlace place, Directive frontend, Directive? bind)
    {
        _isTls = bind?.Arguments.Contains("ssl");
        _proxied = bind?.Arguments.Contains("accept-proxy") == true ? bind : null;
        Apply(HaProxyPlace.GetRules(frontend));
        if (frontend != place.Backend)
        {
            _reached = TestBackend(place, frontend);
            Apply(HaProxyPlace.GetRules(place.Backend));
        }

        Apply((place.Application?.Block ?? []).Where(static line => line.Is("set-param")));
    }

    private bool IsOpen => _reached != Chance.Never && _refused != Chance.Always && _redirected != Chance.Always;

    /// <summary>Finds the line that takes the address from a header of any client.</summary>
    public static Directive? FindBalancer(HaProxyPlace place) => Open(place).SelectMany(static trust => trust._found)
        .FirstOrDefault(static line => GetAction(line) == "set-src");

    /// <summary>Finds the line that takes the address from the PROXY protocol of any client.</summary>
    public static Directive? FindProxied(HaProxyPlace place)
        => Open(place).Select(static trust => trust._proxied).FirstOrDefault(static line => line is not null);

    /// <summary>Finds lines by which clients choose a parameter, with its name.</summary>
    public static IEnumerable<Seen> FindChosen(HaProxyPlace place) => Open(place)
        .SelectMany(static trust => trust._found).Distinct().Where(static line => Stranger.Trusts(GetParameter(line)))
        .Select(static line => Stranger.See(line, GetParameter(line)!) with { Fix = GetFix(line) });

    /// <summary>Finds a constant that claims https for requests that arrive over http.</summary>
    public static Directive? FindConstantScheme(HaProxyPlace place)
        => GetRules(place).Any(static line => GetAction(line) == "set-src") ? null : Open(place)
            .Where(static trust => trust is { _isTls: false, _redirected: Chance.Never })
            .SelectMany(static trust => trust._constants).FirstOrDefault();

    /// <summary>Finds a user whom no rule has verified.</summary>
    public static Directive? FindUnverified(HaProxyPlace place)
    {
        var lines = place.Frontends.Append(place.Backend).Append(place.Application).OfType<Directive>()
            .SelectMany(static section => section.Block).Select(static line => line.Text).ToList();
        return place.Application?.Block.Find(line => line.Is("set-param", "REMOTE_USER")
            && ((line.Text.Contains("http_auth_user") && !Has("http_auth(") && !Has("http_auth_group("))
                || (line.Text.Contains("ssl_c_") && Has("-ignore-err ") && !Has("ssl_c_verify"))));

        bool Has(string word) => lines.Exists(line => line.Contains(word));
    }

    /// <summary>Finds a <c>retry-on</c> that may repeat a POST which the application has executed.</summary>
    public static Directive? FindRetry(HaProxyPlace place) => HaProxyPlace.Get(place.Backend, "retry-on") is { } line
        && line.Arguments.Any(static reason => reason is "all-retryable-errors" or "empty-response" or "junk-response"
            or "response-timeout" or "500" or "502" or "504")
        && !GetRules(place).Any(static rule => GetAction(rule) == "disable-l7-retry") ? line : null;

    /// <summary>The addresses of frontends by which strangers reach the server.</summary>
    private static IEnumerable<HaProxyTrust> Open(HaProxyPlace place)
        => from frontend in place.Frontends.DefaultIfEmpty(place.Backend)
           from bind in frontend.Block.FindAll(static line => line.Is("bind")).DefaultIfEmpty()
           where !Stranger.IsLocal(bind?.First ?? "")
           let trust = new HaProxyTrust(place, frontend, bind)
           where trust.IsOpen
           select trust;

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

    private static string? GetFix(Directive line)
    {
        if (!line.Is("set-param"))
            return Rules.RuleTexts.RemoveLine;
        var name = s_header.Match(line.Text).Groups["header"].Value;
        if (name.Length == 0 && GetParameter(line) is "HTTPS" or "REQUEST_SCHEME")
            name = "X-Forwarded-Proto";
        return name.Length == 0
            ? null
            : $"# before the header is read:\nhttp-request del-header {name} if !{{ src 192.0.2.10 }}";
    }

    /// <summary>Whether a frontend sends the requests of a stranger to the server.</summary>
    private Chance TestBackend(HaProxyPlace place, Directive frontend)
    {
        var leads = frontend.Block.Where(static line => line.Is("use_backend")).ToLookup(place.LeadsHere, Test);
        return place.LeadsHere(HaProxyPlace.Get(frontend, "default_backend"))
            ? Stranger.Negate(leads[false].FirstOrDefault(static chance => chance == Chance.Always))
            : leads[true].Aggregate(Chance.Never, Stranger.Either);
    }

    /// <summary>Applies rules in order.</summary>
    private void Apply(IEnumerable<Directive> lines)
    {
        foreach (var line in lines)
        {
            if (_proxied is not null && !line.Is("tcp-request", "connection"))
                _peers.Remove("src");
            var chance = Test(line);
            if (line.Is("set-param"))
                SetParameter(line, chance);
            else if (chance != Chance.Never)
                Apply(line, GetAction(line), chance, IsChosen(line, chance));
        }
    }

    private void SetParameter(Directive line, Chance chance)
    {
        var isScheme = line.Arguments is ["HTTPS" or "REQUEST_SCHEME", "on" or "1" or "https", ..];
        var isByRedirect = isScheme && _redirected == Chance.Chosen;
        if (IsChosen(line, Stranger.Both(chance, isByRedirect ? Chance.Chosen : _reached))
            && !(isScheme && _isTls == true))
            _found.Add(line);
        else if (isScheme && line.Arguments.Length == 2)
            _constants.Add(line);
    }

    private void Apply(Directive line, string action, Chance chance, bool isChosen)
    {
        if (isChosen)
            _found.Add(line);
        if (s_refusals.Contains(action))
            _refused = Stranger.Either(_refused, chance);
        else if (action == "redirect" && GetValue(line).Contains("https"))
            _redirected = Stranger.Either(_redirected, chance);
        else if (action == "expect-proxy")
            _proxied ??= line;
        else if (action == "set-src" && isChosen)
            _peers.Remove("src");
        else if (action is "set-header" or "del-header" && line.Arguments.Length > 1)
            Update(_clean, line.Arguments[1], isChosen ? Chance.Never : chance);
        else if (s_set.Match(action).Groups["name"] is { Length: > 0 } name)
            SetVariable(line, $"var({name})", chance, isChosen);
    }

    private void SetVariable(Directive line, string name, Chance chance, bool isChosen)
    {
        Update(_chosen, name, isChosen ? Chance.Always : Stranger.Negate(chance));
        var isPeer = _peers.Contains(line.Arguments.ElementAtOrDefault(line.Is("http-request") ? 1 : 2) ?? "");
        Update(_peers, name, isPeer ? Chance.Always : Chance.Never);
    }

    private static void Update(HashSet<string> names, string name, Chance isIn)
    {
        if (isIn == Chance.Always)
            names.Add(name);
        else if (isIn == Chance.Never)
            names.Remove(name);
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
        if (_peers.Contains(fetch))
            return Stranger.AreEverybody(words) ? Chance.Always : Chance.Never;
        return fetch switch
        {
            "always_true" or "TRUE" => Chance.Always,
            "always_false" or "FALSE" or "LOCALHOST" => Chance.Never,
            "ssl_fc" when _isTls is { } isTls => isTls ? Chance.Always : Chance.Never,
            _ => IsOfClient(words[0]) ? Chance.Chosen : Chance.Open,
        };
    }
}
