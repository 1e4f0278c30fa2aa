namespace FastCgi.Tool.Commands.Doctor;

/// <summary>What a client can forge.</summary>
internal static class LighttpdTrust
{
    private static readonly Regex s_condition = new(
        @"^(else )?\$(?<kind>\w+)\[""(?<name>[^""]*)""\] (?<operator>\S+) (?<value>.*)$");

    /// <summary>Finds the line that trusts everybody's headers.</summary>
    public static Directive? FindBalancer(LighttpdPlace place)
        => IsLocal(place) ? null : Find(place, "extforward.forwarder").FirstOrDefault(static line
            => Test(line) != Chance.Never && Stranger.AreEverybody(
                line.Block.Where(static item => item.First == "trust").Select(static item => item.Name)));

    /// <summary>Finds lines that refuse strangers, but not all.</summary>
    public static IEnumerable<Seen> FindPassedGuards(LighttpdPlace place)
        => place.IsExtension || IsLocal(place) ? [] : Guards.Find(place,
            Find(place, "url.access-deny", "auth.require").SelectMany(static line
                => line.Around.Concat(line.Block).Select(static block => block.Name)),
            visit => Find(place, "url.access-deny", "auth.require").FirstOrDefault(line
                => Test(line, visit) == Chance.Always && line.Block.Exists(item => line.Is("auth.require")
                    ? visit.Path.StartsWith(item.Name, StringComparison.Ordinal)
                    : item.First == "")),
            static (guard, path)
                => $"$HTTP[\"url\"] =~ \"(?i)^{path.TrimEnd('/')}(/|\\?|$)\" {{ # {guard.Name} for \"\"",
            "extforward.forwarder = (\"192.0.2.10\" => \"trust\")\n# $HTTP[\"remoteip\"] instead of the header");

    /// <summary>Finds lines by which clients choose a parameter, with its name.</summary>
    public static IEnumerable<Seen> FindChosen(LighttpdPlace place)
        => from line in FindEnvironment(place)
           let isChosen = Test(line) == Chance.Chosen
           from item in line.Block
           where isChosen || (item is { Name: "HTTPS", First: "on" } && TestRedirect(place) == Chance.Chosen)
           where Stranger.Trusts(item.Name)
           select Stranger.See(item, item.Name, $"{item.Name} in {line.Parent!.Name}");

    /// <summary>Finds <c>HTTPS</c> for requests that arrive over http.</summary>
    public static Directive? FindConstantScheme(LighttpdPlace place)
        => place.Visible("ssl.engine", "extforward.forwarder").Any() || TestRedirect(place) != Chance.Never ? null
            : FindEnvironment(place).FirstOrDefault(static line
                => line.Find("HTTPS", "on") is not null && Test(line) is Chance.Open or Chance.Always
                    && !line.Around.Any(static block => Regex.IsMatch(block.Name, "(:443|== https)$")));

    /// <summary>Whether requests that arrive over http are redirected to https.</summary>
    private static Chance TestRedirect(LighttpdPlace place) => Find(place, "url.redirect")
        .Where(static line => line.Block.Exists(static item => Place.Everything.IsMatch(item.Name)
            && item.First?.StartsWith("https:", StringComparison.Ordinal) == true))
        .Select(static line => Test(line, new("/x", HasHeader: true), isPlain: true))
        .Aggregate(Chance.Never, Stranger.Either) is var chance and not Chance.Open ? chance : Chance.Never;

    private static bool IsLocal(LighttpdPlace place) => place.IsLocal || Test(place.Pass) == Chance.Never;

    /// <summary>The lines that set parameters, unless strangers are refused.</summary>
    private static IEnumerable<Directive> FindEnvironment(LighttpdPlace place)
        => IsLocal(place) || Find(place, "url.access-deny").Any(static line
            => line.Block.Exists(static item => item.First == "") && Test(line) == Chance.Always)
            ? []
            : Find(place, "setenv.add-environment", "setenv.set-environment");

    /// <summary>The lines that may apply to the requests of the place.</summary>
    private static IEnumerable<Directive> Find(LighttpdPlace place, params string[] names)
        => place.Visible(names).Where(line => !line.Around.Any(block => place.Pass.Around.Any(other
            => block.Arguments.Contains(other.Name) || other.Arguments.Contains(block.Name)
                || (block.Name.Split(" == ") is [var name, _] && other.Name != block.Name
                    && other.Name.StartsWith(name + " == ", StringComparison.Ordinal)))));

    /// <summary>Whether a stranger meets the conditions around a line.</summary>
    private static Chance Test(Directive line, Visit? visit = null, bool isPlain = false) => line.Around
        .SelectMany(block => block.Arguments.Select(before => Stranger.Negate(TestCondition(before, visit, isPlain)))
            .Append(TestCondition(block.Name, visit, isPlain)))
        .Aggregate(Chance.Always, Stranger.Both);

    private static Chance TestCondition(string condition, Visit? visit, bool isPlain)
    {
        // A guard of one host is a guard.
        if (condition is "" or "else" || (visit is not null && condition.Contains("\"host\"")))
            return Chance.Always;
        var parts = s_condition.Match(condition);
        var (kind, name, value) = (parts.Groups["kind"].Value, parts.Groups["name"].Value.ToLowerInvariant(),
            parts.Groups["value"].Value);
        var operation = parts.Groups["operator"].Value;
        var known = name switch
        {
            "url" => visit?.Path,
            "scheme" => isPlain ? "http" : null,
            _ => visit?.HasHeader == false && Guards.NamesAddress(name) ? "" : null,
        };
        if (known is not null)
            return Guards.Test(known, Guards.GetPattern(operation, value)) is var met && operation.StartsWith('!')
                ? Stranger.Negate(met)
                : met;
        if (name is "remoteip" or "remote-ip")
        {
            var matches = operation.EndsWith('~')
                ? Place.TryMatch(value, Stranger.Address) == true
                : Stranger.AreEverybody([value]);
            return matches == !operation.StartsWith('!') ? Chance.Always : Chance.Never;
        }

        if (kind == "SERVER" && name == "socket" && operation == "==")
            return Stranger.IsLocal(value) ? Chance.Never : Chance.Open;
        var isOfClient = (kind == "REQUEST_HEADER" && name != "host")
            || name is "cookie" or "referer" or "useragent" or "user-agent" or "querystring" or "query-string";
        return isOfClient ? Chance.Chosen : Chance.Open;
    }
}
