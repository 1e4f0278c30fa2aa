using static FastCgi.Tool.Commands.Doctor.Rules.Rule;

namespace FastCgi.Tool.Commands.Doctor.Rules;

/// <summary>What does not reach the application or the client, or arrives twice.</summary>
internal static class ReachRules
{
    private const string NoAssets = "requests for style sheets and scripts do not reach the application";

    public static IReadOnlyList<Rule> All { get; } =
    [
        new("abstract-socket", Level.Problem, "the web server cannot connect, and returns 502 or 503", BadGateway,
            On<Place>(place => place.FindAbstract(), "--urls fastcgi://unix:/run/app/app.sock")),

        new("module-missing", Level.Problem, "Apache does not start, or returns 500",
            "front-ends/apache.md#minimal-configuration",
            On<ApachePlace>(place => place.See(place.LacksModule(), "proxy_fcgi_module is not loaded"),
                "a2enmod proxy_fcgi")),

        new("front-page", Level.Problem,
            "for /, nginx serves the folder instead of asking the application, and returns 403 unless it contains an "
            + "index", NotFound,
            On<NginxPlace>(place => NginxReach.FindFolder(place).See(), "try_files $uri @app;")),

        new("only-files", Level.Problem, "paths that are not files do not reach the application", NotFound,
            On<NginxPlace>(place => NginxReach.FindMissingFiles(place).See(),
                "# remove try_files, or: try_files $uri @app;")
                with { Effect = "nginx returns 404 for every path that is not a file" },
            On<LighttpdPlace>(place => place.See(place["check-local"] != "disable",
                $"{place.Path} has no \"check-local\" => \"disable\""), "\"check-local\" => \"disable\"")
                with { Effect = "lighttpd returns 404 for each path that is not a file" }),

        new("static-files", Level.Note, NoAssets + ", and result in a 404 unless the web server has the files",
            NotFound,
            On<NginxPlace>(place => NginxReach.FindTakenFiles(place, hasRoot: false), TakeFiles)
                with { Level = Level.Problem, Effect = NoAssets + ", and result in a 404" },
            On<NginxPlace>(place => NginxReach.FindTakenFiles(place, hasRoot: true), TakeFiles),
            On<ApachePlace>(place => place.FindTakenFiles().See(), RemoveLine)),

        new("posts-repeated", Level.Problem,
            "if an application fails during a POST, the web server sends it again, and it is executed twice",
            BadGateway,
            On<NginxPlace>(place => NginxReach.FindRepeatedPosts(place).See(), "fastcgi_next_upstream error timeout;")),
    ];

    private const string TakeFiles = "# remove this location, or add: try_files $uri @app;";
}
