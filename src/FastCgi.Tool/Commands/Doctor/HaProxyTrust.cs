namespace FastCgi.Tool.Commands.Doctor;

/// <summary>What a client can forge.</summary>
internal sealed class HaProxyTrust
{
    private static readonly Regex s_header = new(
        @"\b((req\.)?(f?hdr|hdrs)(_\w+)?\((?!host\b)|(req\.)?cook(_\w+)?\(|url_?p(aram)?(_\w+)?\(|"
        + @"capture\.req\.hdr\(|req\.hdrs\b)",
        RegexOptions.IgnoreCase);
    private static readonly Regex s_variable = new(@"\bvar\((?<name>[\w.]+)\)");
    private static readonly Regex s_set = new(@"^set-var(-fmt)?\((?<name>[\w.]+)");

    private static readonly string[] s_refusals = ["deny", "reject", "tarpit", "silent-drop", "return"];

    private readonly HaProxyPlace _place;
    private readonly List<Directive> _rules;
    private readonly List<Directive> _binds;

    // The variables whose values clients choose.
    private readonly HashSet<string> _chosen = new(StringComparer.Ordinal);

    private HaProxyTrust(HaProxyPlace place)
    {
        _place = place;
        _rules = [.. GetRules(place)];
        _binds = [.. place.Frontends.SelectMany(static section => section.Block).Where(static line => line.Is("bind"))];
        var sets = _rules.SelectMany(static line => line.Arguments
            .Select(word => (Line: line, Name: s_set.Match(word).Groups["name"].Value))
            .Where(static set => set.Name.Length > 0)).ToList();
        while (sets.RemoveAll(set => IsChosen(set.Line) && _chosen.Add(set.Name)) > 0)
            continue;
    }

    /// <summary>Whether only programs of this machine connect, or a rule refuses all strangers.</summary>
    private bool IsClosed => (_binds.Count > 0 && _binds.TrueForAll(static bind => Stranger.IsLocal(bind.First ?? "")))
        || _rules.Exists(line => line.Arguments.Any(static word => s_refusals.Contains(word))
            && Test(line) == Chance.Always);

    /// <summary>Finds the line that takes the address from a header of any client.</summary>
    public static Directive? FindBalancer(HaProxyPlace place)
    {
        var trust = new HaProxyTrust(place);
        return trust.IsClosed ? null : trust._rules.Find(line
            => line.Arguments is [['s', 'e', 't', '-', 's', 'r', 'c', ..], ..] && trust.IsChosen(line));
    }

    /// <summary>Finds lines by which clients choose a parameter, with its name.</summary>
    public static IEnumerable<Seen> FindChosen(HaProxyPlace place)
    {
        var trust = new HaProxyTrust(place);
        return trust.IsClosed ? [] : (place.Application?.Block ?? []).Concat(trust._rules)
            .Where(line => line.Arguments.Length > 1 && Stranger.Trusts(GetParameter(line)) && trust.IsChosen(line))
            .Select(static line => Stranger.See(line, GetParameter(line)!));
    }

    /// <summary>Finds a constant that claims https for requests that arrive over http.</summary>
    public static Directive? FindConstantScheme(HaProxyPlace place)
        => new HaProxyTrust(place) is { IsClosed: false } trust
            && trust._binds.Exists(static bind => !bind.Arguments.Contains("ssl"))
            && !trust._rules.Exists(static line => line.Is(line.Name, "set-src")
                || line.Is(line.Name, "redirect", "scheme", "https"))
            ? place.Application?.Block.Find(static line => line.Is("set-param") && line.Arguments is
                ["HTTPS" or "REQUEST_SCHEME", "on" or "1" or "https"])
            : null;

    /// <summary>Finds a <c>retry-on</c> that may repeat a POST which the application has executed.</summary>
    public static Directive? FindRetry(HaProxyPlace place) => HaProxyPlace.Get(place.Backend, "retry-on") is { } line
        && line.Arguments.Any(static reason => reason is "all-retryable-errors" or "empty-response" or "junk-response"
            or "response-timeout" or "500" or "502" or "504")
        && !GetRules(place).Any(static rule => rule.Is(rule.Name, "disable-l7-retry")) ? line : null;

    /// <summary>The rules of the sections that requests pass through, in order.</summary>
    private static IEnumerable<Directive> GetRules(HaProxyPlace place)
        => place.Frontends.Append(place.Backend).Distinct().SelectMany(static section => section.Block)
            .Where(static line => line.Name is "http-request" or "tcp-request");

    private static string? GetParameter(Directive line)
    {
        if (line.Is("set-param"))
            return line.First;
        return line.Is(line.Name, "set-header", "Host") ? "HTTP_HOST" : null;
    }

    private bool IsChosen(Directive line) => Test(line) switch
    {
        Chance.Never => false,
        Chance.Chosen => true,
        _ => IsOfClient(line.Text.Split(" if ")[0].Split(" unless ")[0]),
    };

    private bool IsOfClient(string text) => s_header.IsMatch(text)
        || s_variable.Matches(text).Any(match => _chosen.Contains(match.Groups["name"].Value));

    /// <summary>The condition of a line.</summary>
    private Chance Test(Directive line)
    {
        var index = Array.FindIndex(line.Arguments, static word => word is "if" or "unless");
        if (index < 0)
            return Chance.Always;
        var chance = Stranger.Test(Group(line.Arguments[(index + 1)..]), atom => TestAtom(atom));
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

    private Chance TestAtom(string atom)
    {
        var words = atom.Split(' ');
        if (words.Length > 1)
            return TestFetch(words);
        var lines = _place.Frontends.Append(_place.Backend).Append(_place.Application).OfType<Directive>().Distinct()
            .SelectMany(static section => section.Block)
            .Where(line => line.Is("acl", atom) && line.Arguments.Length > 1).ToList();
        return lines.Count == 0
            ? TestFetch(words)
            : lines.Select(line => TestFetch(line.Arguments[1..])).Aggregate(Stranger.Either);
    }

    private Chance TestFetch(string[] words) => words[0].Split(',')[0] switch
    {
        "always_true" or "TRUE" => Chance.Always,
        "always_false" or "FALSE" => Chance.Never,
        "src" or "fc_src" => Stranger.AreEverybody(words) ? Chance.Always : Chance.Never,
        "LOCALHOST" => Chance.Never,
        _ => IsOfClient(words[0]) ? Chance.Chosen : Chance.Open,
    };
}
