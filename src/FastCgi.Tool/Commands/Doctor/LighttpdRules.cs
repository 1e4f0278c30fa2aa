namespace FastCgi.Tool.Commands.Doctor;

internal static class LighttpdRules
{
    public static Rule<LighttpdPlace>[] All { get; } =
    [
        new("lighttpd.module-missing", place => place.LacksModule),
        new("lighttpd.check-local", place => place["check-local"] != "disable"),
        new("lighttpd.streaming-held", place => place.Pass.Get("server.stream-response-body") is var set
            && (set?.First is "0" || (set is null && place.IsWhole))
                ? new Seen(set?.Where ?? place.Where)
                : null),
        new("lighttpd.body-size", place => place.BodyLimit is > 0 and < Place.UsualBody,
            place => place.Pass.Get("server.max-request-size")),
        new("lighttpd.read-timeout", place => place.ReadTimeout is > 0 and < Place.LongestPoll,
            place => new Seen(place.Where, Invariant($"{place.ReadTimeout}"))),
        new("lighttpd.scheme-constant", LighttpdTrust.FindConstantScheme),
        new("lighttpd.client-chosen.balancer", LighttpdTrust.FindBalancer),
        new("lighttpd.client-chosen.parameter", LighttpdTrust.FindChosen),
        new("lighttpd.keys-not-shared", place => place["bin-path"] is not null && place["max-procs"] != "1"),
        new("lighttpd.error-page", place => !place.SetsTarget,
            place => place.Visible("server.error-handler").FirstOrDefault(line => line.First is ['/', ..])),
        new("lighttpd.rewrite-unseen", place => place.Rewrites
            .Where(line => !line.Block.TrueForAll(place.KeepsPath))
            .Select(static line => new Seen(line.Where, line.Name))),
        new("lighttpd.underscores", place
            => place.Visible("setenv.set-request-header", "setenv.add-request-header")
                .SelectMany(list => list.Block)
                .Where(item => place.IsWhole && !place.HasScript && !item.Is("Host"))
                .Select(item => new Seen(item.Where, item.Name))),
        new("lighttpd.path-base.other", place => place.PathBases
            .Where(set => set.Pattern?.StartsWith(set.Value, StringComparison.Ordinal) == false)
            .Select(set => new Seen(
                set.Where, set.Condition!, set.Value, set.Pattern!.Split('(', '$')[0].TrimEnd('/')))),
        new("lighttpd.path-base.always", place => place.PathBases
            .Where(set => set is { Condition: null, Value.Length: > 0 } && place.Base != set.Value)
            .Select(set => new Seen(set.Where, set.Value))),
        new("lighttpd.path-base.missing", place => place.IsWhole && place.IsBelowRoot
            && !place.PathBases.Any() && !place.IsPartOfApplication
            // A prefix that only a rewrite adds.
            && !place.Rewrites.SelectMany(static line => line.Block)
                .Any(rule => rule.First?.StartsWith(place.Path, StringComparison.Ordinal) == true)),
    ];
}
