namespace FastCgi.Tool.Commands.Doctor;

/// <summary>What a client can forge.</summary>
internal sealed class CaddyTrust
{
    private static readonly Regex s_header = new(
        @"\{(http\.request\.)?(header\.(?!Host\})|cookie\.|query\.|uri\.query|query\})", RegexOptions.IgnoreCase);
    private static readonly Regex s_variable = new(@"\{(http\.)?(vars\.)?(?<name>[\w.]+)\}");
    private static readonly string[] s_ofClient = ["header", "header_regexp", "query", "expression", "vars"];
    private static readonly string[] s_ofAddress = ["remote_ip", "client_ip"];
    private static readonly string[] s_networks = ["private_ranges", "forwarded", "static"];

    private readonly CaddyPlace _place;
    private readonly HashSet<string> _chosen = new(StringComparer.Ordinal);

    private CaddyTrust(CaddyPlace place)
    {
        _place = place;
        if (FindBalancer(place) is not null)
            _chosen.UnionWith(["client_ip", "request.client_ip"]);
        // A variable may have the value of one in a later line.
        for (var count = -1; count < _chosen.Count;)
        {
            count = _chosen.Count;
            foreach (var line in place.SiteLines.Where(static line => line.IsAny("map", "vars")))
                _chosen.UnionWith(GetVariables(line));
        }
    }

    /// <summary>Whether the place is only for known addresses, or a line refuses the others.</summary>
    private bool IsClosed => GetMatchers(_place.Pass).Contains(Chance.Never)
        || _place.SiteLines.Any(line => line.Is("bind") && line.Arguments.All(Stranger.IsLocal))
        || _place.SiteLines.Any(line => line.IsAny("abort", "respond", "error")
            && line.First is ['@', ..] && TestMatcher(line) == Chance.Always);

    /// <summary>Finds the line that trusts everybody's headers.</summary>
    public static Directive? FindBalancer(CaddyPlace place) => place.AllLines.FirstOrDefault(static line
        => line.Is("trusted_proxies") && Stranger.AreEverybody(line.Arguments));

    /// <summary>Finds lines by which clients choose a parameter, with its name.</summary>
    public static IEnumerable<Seen> FindChosen(CaddyPlace place)
    {
        if (new CaddyTrust(place) is not { IsClosed: false } trust)
            return [];
        var isSelected = trust.GetMatchers(place.Pass).Contains(Chance.Chosen);
        return place.Parameters.Where(line => line.Arguments is [var name, var value, ..] && Stranger.Trusts(name)
                && (trust.IsOfClient(value) || (isSelected && value.Length > 0 && !value.Contains('{'))))
            .Concat(place.SiteLines.Where(line => line.IsAny("request_header", "header_up")
                && line.Arguments is ["Host", var host, ..] && trust.IsOfClient(host)))
            .Select(static line => Stranger.See(
                line, line.First!.Replace("Host", "HTTP_HOST", StringComparison.Ordinal)));
    }

    /// <summary>Finds a constant that claims https for requests that arrive over http.</summary>
    public static Directive? FindConstantScheme(CaddyPlace place)
    {
        var isPlain = place.SiteNames.Any(static name => name.StartsWith("http://", StringComparison.Ordinal)
            || Regex.IsMatch(name, @":80,?$"));
        return isPlain && new CaddyTrust(place) is { IsClosed: false } trust
            && !trust.GetMatchers(place.Pass).Contains(Chance.Chosen)
            ? place.Parameters.FirstOrDefault(static line => line.Arguments is
                ["HTTPS" or "REQUEST_SCHEME", "on" or "1" or "https"])
            : null;
    }

    private bool IsOfClient(string text) => s_header.IsMatch(text)
        || s_variable.Matches(text).Any(match => _chosen.Contains(match.Groups["name"].Value));

    private IEnumerable<string> GetVariables(Directive line)
    {
        if (line is { Name: "vars", Arguments: [.., var name, var value] } && IsOfClient(value))
            return [name];
        return line is { Name: "map", Arguments: [var source, .. var targets] } && IsOfClient(source)
            ? targets.Select(static target => target.Trim('{', '}'))
            : [];
    }

    private IEnumerable<Chance> GetMatchers(Directive pass) => pass.Around.SkipLast(2).Prepend(pass)
        .Where(static line => line.First is ['@', ..]).Select(TestMatcher);

    /// <summary>The named matcher of a line, whose own lines must all be met.</summary>
    private Chance TestMatcher(Directive line)
    {
        if (line.Get(line.First!) is not { } matcher)
            return Chance.Open;
        return (matcher.Arguments.Length > 0 ? [matcher.Arguments] : matcher.Block.Select(
                static inner => (string[])[inner.Name, .. inner.Arguments]))
            .Aggregate(Chance.Always, (all, words) => Stranger.Both(all, Test(words)));
    }

    private Chance Test(string[] words)
    {
        if (words is ["not", .. var rest])
            return rest.Length > 0 ? Stranger.Negate(Test(rest)) : Chance.Open;
        var isForged = words.Contains("forwarded") || (words[0] == "client_ip" && _chosen.Contains("client_ip"));
        if (s_ofAddress.Contains(words[0]) && !isForged)
            return Stranger.AreEverybody(words.Except(s_networks)) ? Chance.Always : Chance.Never;
        return isForged || (s_ofClient.Contains(words[0]) && !words.Contains("Host")) ? Chance.Chosen : Chance.Open;
    }
}
