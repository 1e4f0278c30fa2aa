namespace FastCgi.Tool.Commands.Doctor;

/// <summary>What a client can forge.</summary>
internal static class LighttpdTrust
{
    private static readonly Regex s_condition = new(
        @"^(else )?\$(?<kind>\w+)\[""(?<name>[^""]*)""\] (?<operator>\S+) (?<value>.*)$");

    /// <summary>Finds the line that trusts everybody's headers.</summary>
    public static Directive? FindBalancer(LighttpdPlace place)
        => place.Visible("extforward.forwarder").FirstOrDefault(static line => Test(line) != Chance.Never
            && Stranger.AreEverybody(
                line.Block.Where(static item => item.First == "trust").Select(static item => item.Name)));

    /// <summary>Finds lines by which clients choose a parameter, with its name.</summary>
    public static IEnumerable<Seen> FindChosen(LighttpdPlace place)
        => from line in place.Visible("setenv.add-environment", "setenv.set-environment")
           where Test(line) == Chance.Chosen && Test(place.Pass) != Chance.Never
           from item in line.Block
           where Stranger.Trusts(item.Name)
           select Stranger.See(item, item.Name, $"{item.Name} in {line.Parent!.Name}");

    /// <summary>Finds <c>HTTPS</c> for requests that arrive over http.</summary>
    public static Directive? FindConstantScheme(LighttpdPlace place)
        => place.Visible("ssl.engine", "extforward.forwarder").Any() ? null
            : place.Visible("setenv.add-environment", "setenv.set-environment")
                .FirstOrDefault(line => line.Find("HTTPS", "on") is not null && line.Around.SkipLast(1)
                    .All(place.Pass.Around.Contains) && Test(line) != Chance.Never);

    /// <summary>Whether a stranger meets the conditions around a line.</summary>
    private static Chance Test(Directive line)
        => line.Around.Aggregate(Chance.Always, static (all, block) => Stranger.Both(all, TestBlock(block)));

    private static Chance TestBlock(Directive block)
    {
        if (block.Name is "" or "else")
            return Chance.Always;
        var parts = s_condition.Match(block.Name);
        var (kind, name, value) = (parts.Groups["kind"].Value, parts.Groups["name"].Value.ToLowerInvariant(),
            parts.Groups["value"].Value);
        var operation = parts.Groups["operator"].Value;
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
