namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Which requests reach the application.</summary>
internal static class NginxReach
{
    // The second one is of ngx_headers_more.
    private static readonly string[] s_removals = ["fastcgi_hide_header", "more_clear_headers"];

    /// <summary>Finds a line that refuses all requests of a kind, or those that their senders choose.</summary>
    public static Directive? FindRefusal(NginxPlace place, Func<string, string?> known,
        Predicate<Directive>? isRefusal = null, Chance chance = Chance.Always)
    {
        var conditions = place.InServer("if").Where(condition => condition.Parent is { } block
            && place.Pass.Around.Contains(block) && condition.Block.Exists(isRefusal ?? IsRefusal)).ToList();
        var values = conditions.Count > 0 ? place.Read(known) : null;
        return conditions.Find(condition => values!.Test(condition) == chance);
    }

    /// <summary>Finds lines that refuse methods, such as those of APIs.</summary>
    public static IEnumerable<Seen> FindRefusedMethods(NginxPlace place)
        => IsPart(place) ? [] : Place.FindRefused(method => FindRefusal(place, name => ReadMethod(name, method))
            ?? place.Pass.Around.SelectMany(static block => block.Block).FirstOrDefault(line => line.Is("limit_except")
                && !line.Arguments.Contains(method, StringComparer.OrdinalIgnoreCase)
                && line.Find("deny", "all") is not null));

    /// <summary>Finds what refuses <c>/.well-known</c> together with hidden files.</summary>
    public static Directive? FindRefusedPath(NginxPlace place)
    {
        var path = place.Base + Place.WellKnown;
        if (!IsMain(place))
            return null;
        var line = FindRefusal(place, name => name is "uri" or "document_uri" or "request_uri" ? path : null);
        if (line is not null && line != FindRefusal(place, static name
            => name is "uri" or "document_uri" or "request_uri" ? "/x" : null))
            return line;
        return Find(place, path) is { } location && (location.Find("deny", "all") is not null
            || location.Block.Exists(IsRefusal)) ? location : null;
    }

    /// <summary>Finds guards of a path that miss other spellings, which the application accepts.</summary>
    public static IEnumerable<Seen> FindPassedGuards(NginxPlace place)
        => from location in place.InServer("location")
           let guard = location.Block.Find(line => IsGuard(line) || (line.Is("if") && line.Block.Exists(IsRefusal)
               && place.Values.Test(line) == Chance.Always))
           where location.First is not null && guard is not null && IsMain(place)
               && !place.Pass.Around.Contains(location)
               && (guard.Is("if") || place.Get(guard.Name)?.First is null or "off")
           let path = ReadPath(location)
           where NginxLocations.Find((Directive)place.Site!, path).FirstOrDefault() == location
               // The application has the path, or it is closed to all.
               && (place.Serves(path) || location.Block.Exists(line => line.Is("fastcgi_pass", place.Pass.First!))
                   || guard.Is("return") || (guard.Is("deny", "all") && location.Find("allow") is null))
           let other = place.Respell(path).FirstOrDefault(place.Gets)
           // An application that learns the user can refuse others itself.
           where other is not null && location.Find("fastcgi_param", "AUTH_TYPE") is null
           select new Seen(location.Where, $"{location.Text} guards {path}, but not {other}",
               Fix: $"location ~* {Guards.Widen(location, path)} {{");

    /// <summary>Whether a line refuses clients, other than from files.</summary>
    public static bool IsGuard(Directive line)
        => (line.Is("deny") || line is { Name: "return", First: "401" or "403" or "404" }
            or { Name: "auth_basic" or "auth_request" or "auth_jwt", First: not "off" })
            && !line.Around.Any(static block => block.Is("location") && Guards.IsOfFiles(block.Text));

    /// <summary>A path of a location; of a pattern, with its first alternatives.</summary>
    private static string ReadPath(Directive location)
    {
        var words = string.Concat(location.Arguments);
        return words[0] == '~' ? Guards.ReadFirst(words[1..]) : words.TrimStart('=', '^', '~');
    }

    /// <summary>Finds conditions that refuse strangers, but not all.</summary>
    public static IEnumerable<Seen> FindPassedConditions(NginxPlace place)
        => IsOfScripts(place) || NginxTrust.IsClosed(place) ? [] : Guards.Find(place,
            place.InServer("if", "location", "map").SelectMany(static line => line.Block.Prepend(line))
                .Select(static line => line.Text),
            visit => FindGuard(place, name => name switch
            {
                "uri" or "document_uri" => visit.DecodedPath,
                "request_uri" => visit.Path,
                _ => !visit.HasHeader && Guards.NamesAddress(name) ? "" : null,
            }),
            static (_, path) => string.Format(CultureInfo.InvariantCulture,
                "if ($uri ~* \"{0}\") {{\n# in a map of $uri: \"~*{0}\"", Guards.GetPatternBelow(path)),
            "set_real_ip_from 192.0.2.10;\nreal_ip_header X-Forwarded-For;\n"
                + "# in the condition, $remote_addr instead of the header");

    private static Directive? FindGuard(NginxPlace place, Func<string, string?> known)
        => FindRefusal(place, known, IsGuard) ?? (place.Get("auth_basic") is { First: ['$', ..] realm } line
            && !place.Read(known).Get(realm).Texts.Contains("off") ? line : null);

    /// <summary>Finds locations that take style sheets and scripts by their extension.</summary>
    /// <param name="hasRoot">Whether a folder is set that may contain the files.</param>
    public static IEnumerable<Seen> FindTakenFiles(NginxPlace place, bool hasRoot)
        => from file in Place.Files
           where IsMain(place)
           let location = Find(place, place.Base + file)
           where location is { First: ['~', ..] } && !location.All.Any(NginxPlace.IsPass)
               && location.Find("root") is null && location.Find("alias") is null
           let root = location.Get("root")
           where hasRoot == root is not null && root?.First?.Contains("wwwroot") != true
           group file by location into taken
           from seen in taken.Key.See(static line => $"{line.Text} passes nothing to the application")
           select seen;

    /// <summary>Finds a <c>try_files</c> that never asks the application for what is no file.</summary>
    public static Directive? FindMissingFiles(NginxPlace place) => IsOfScripts(place) ? null
        : place.Pass.Parent!.Block.Find(static line => line is { Name: "try_files", Arguments: [.., ['=', ..]] });

    /// <summary>Finds the line that removes the application's cookies, unless they are not to be cached.</summary>
    public static Directive? FindHiddenCookies(NginxPlace place) => place.IsCached || IsPart(place) ? null
        : s_removals.SelectMany(name => place.Pass.GetInnermost(name)).FirstOrDefault(static line
            => line.Arguments.Contains("Set-Cookie", StringComparer.OrdinalIgnoreCase));

    public static Directive? FindRepeatedPosts(NginxPlace place) => place.Get("fastcgi_next_upstream") is { } line
        && line.Arguments.Contains("non_idempotent") && place.Targets.Take(2).Count() > 1 ? line : null;

    /// <summary>Finds a <c>try_files</c> that serves the folder in place of the application's front page.</summary>
    public static Directive? FindFolder(NginxPlace place)
    {
        if (place.Pass.FindAround("server") is not { } server || IsOfScripts(place) || !place.Serves(place.Base + "/")
            || place.Pass.Get("autoindex", "on") is not null)
            return null;

        var line = NginxLocations.Find(server, place.Base + "/").First().Find("try_files");
        var indexes = line?.Get("index")?.Arguments ?? [];
        return line?.Arguments.SkipLast(1).Any(text => place.Read(
                static name => name is "uri" or "document_uri" ? $"{NginxPlace.Mark}" : null)
            .Get(text).Texts.Contains($"{NginxPlace.Mark}/")) == true
            && !indexes.Any(index => index[0] == '/' && place.Serves(index)) ? line : null;
    }

    /// <summary>Whether the place is for scripts, such as <c>\.php$</c>.</summary>
    public static bool IsOfScripts(NginxPlace place)
        => place.Location is [['~', ..], ..] && string.Concat(place.Location).Contains("\\.");

    public static bool IsRedirect(Directive line) => line is { Name: "return", First: ['3', _, _] }
        || (line.Is("rewrite")
            && line.Arguments is [var from, .., ['h', 't', 't', 'p', ..] or "redirect" or "permanent"]
            && Place.Everything.IsMatch(from));

    public static bool IsRefusal(Directive line) => line.Is("return") && line.First is ['4' or '5', _, _];

    /// <summary>Whether another place has the application's ordinary requests.</summary>
    private static bool IsPart(NginxPlace place) => place.IsGuard || (!place.Serves("/x")
        && place.All.OfType<NginxPlace>().Any(other => other.IsFastCgi && other.Site == place.Site
            && other.Serves("/x")));

    /// <summary>The variables of a request with a certain method.</summary>
    private static string? ReadMethod(string name, string method) => name switch
    {
        "request_method" => method,
        "request" => method + " /",
        _ => null,
    };

    /// <summary>Whether ordinary requests reach the place.</summary>
    private static bool IsMain(NginxPlace place) => !IsOfScripts(place) && place.Serves(place.Base + "/x");

    /// <summary>The location that takes a path, unless it passes what it lacks to a place of an application.</summary>
    private static Directive? Find(NginxPlace place, string path)
    {
        var found = NginxLocations.Find(place.Pass.FindAround("server")!, path).ToList();
        var passes = place.All.OfType<NginxPlace>().Any(other => found.Contains(other.Pass.FindAround("location")!))
            || found.SelectMany(location => location.Around.Prepend(location)).SelectMany(static block => block.Block)
                .Any(page => page.Is("error_page") && page.Arguments.Contains("404")
                    && place.Serves(page.Arguments[^1]));
        return passes ? null : found.LastOrDefault();
    }
}
