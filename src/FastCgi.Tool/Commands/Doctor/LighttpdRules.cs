namespace FastCgi.Tool.Commands.Doctor;

internal static class LighttpdRules
{
    public static Rule<LighttpdPlace>[] All { get; } =
    [
        new("lighttpd.module-missing", static place => place.LacksModule),
        new("lighttpd.check-local", static place => place["check-local"] != "disable"),
        new("lighttpd.streaming-held", static place => place.Pass.Get("server.stream-response-body") is var set
            && (set?.First is "0" || (set is null && place.IsWhole))
                ? new Seen(set?.Where ?? place.Where)
                : null),
        new("lighttpd.body-size", static place => place.BodyLimit is > 0 and < Place.UsualBody
            ? place.Pass.Get("server.max-request-size")
            : null),
        new("lighttpd.read-timeout", static place => place.ReadTimeout is > 0 and < Place.LongestPoll and var seconds
            ? new Seen(place.Where, Invariant($"{seconds}"))
            : null),
        new("lighttpd.keys-not-shared", static place => place["bin-path"] is not null && place["max-procs"] != "1"),
        new("lighttpd.error-page", static place => place.SetsTarget
            ? null
            : place.Visible("server.error-handler").FirstOrDefault(static line => line.First is ['/', ..])),
        new("lighttpd.rewrite-unseen", static place => place.Visible("url.rewrite", "url.rewrite-once")
            .Select(static line => new Seen(line.Where, line.Name))),
        new("lighttpd.underscores", static place => place.IsWhole && !place.HasScript
            ? place.Visible("setenv.set-request-header", "setenv.add-request-header")
                .SelectMany(static list => list.Block).Where(static item => !item.Is("Host"))
                .Select(static item => new Seen(item.Where, item.Name))
            : []),
        new("lighttpd.path-base.other", static place => place.PathBases
            .Where(static set => set.Pattern?.StartsWith(set.Value, StringComparison.Ordinal) == false)
            .Select(static set => new Seen(
                set.Where, set.Condition!, set.Value, set.Pattern!.Split('(', '$')[0].TrimEnd('/')))),
        new("lighttpd.path-base.always", static place => place.PathBases
            .Where(set => set is { Condition: null, Value.Length: > 0 } && place.Base != set.Value)
            .Select(static set => new Seen(set.Where, set.Value))),
        new("lighttpd.path-base.missing", static place => place.IsWhole && place.IsBelowRoot
            && !place.PathBases.Any() && !place.IsPartOfApplication),
    ];
}
