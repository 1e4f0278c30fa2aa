namespace FastCgi.AspNetCore.Testing.FrontEnds;

/// <summary>How a web server runs: in the foreground, with the files of the current folder.</summary>
/// <param name="Arguments">Its arguments, filled in as the templates are.</param>
/// <param name="Templates">
/// The configuration files that are written to the folder, from the templates beside this file.
/// </param>
/// <param name="ErrorMarks">Text that only lines about errors in its log contain.</param>
public sealed record FrontEndProgram(string Name, string[] Arguments, string[] Templates, string[] ErrorMarks)
{
    private static readonly Dictionary<FrontEndKind, FrontEndProgram> s_programs = new()
    {
        [FrontEndKind.Nginx] = new(
            "nginx",
            ["-p", "{{folder}}", "-c", "nginx.conf", "-e", "error.log"],
            ["nginx.conf", "fastcgi_app.conf"],
            ["[error]", "[crit]", "[alert]", "[emerg]"]),

        // Ignores the errors of mpm_event, which occur when Apache is stopped at the moment a client disconnects.
        [FrontEndKind.Apache] = new(
            "apache2",
            ["-d", "{{folder}}", "-f", "apache.conf", "-D", "FOREGROUND"],
            ["apache.conf"],
            ["[proxy:error]", "[proxy_fcgi:error]", "[core:error]", ":crit]", ":alert]", ":emerg]"]),

        [FrontEndKind.Lighttpd] = new(
            "lighttpd",
            ["-D", "-f", "lighttpd.conf"],
            ["lighttpd.conf"],
            ["(gw_backend.c", "(mod_fastcgi.c"]),

        [FrontEndKind.HaProxy] = new(
            "haproxy",
            ["-db", "-f", "haproxy.conf"],
            ["haproxy.conf"],
            ["[ALERT]"]),

        [FrontEndKind.Caddy] = new(
            "caddy",
            ["run", "--config", "caddy.conf", "--adapter", "caddyfile"],
            ["caddy.conf"],
            ["\"level\":\"error\"", "\"level\":\"fatal\"", "\"level\":\"panic\""]),
    };

    public static FrontEndProgram Of(FrontEndKind kind) => s_programs[kind];
}
