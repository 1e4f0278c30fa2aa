namespace FastCgi.AspNetCore.Cgi;

internal enum WebServerKind : byte
{
    Other,
    Nginx,
    Apache,
    HaProxy,
    Lighttpd,
}

internal static class WebServerKinds
{
    private static readonly (string Name, WebServerKind Kind)[] s_names =
        [("nginx", WebServerKind.Nginx), ("Apache", WebServerKind.Apache), ("HAProxy", WebServerKind.HaProxy),
            ("lighttpd", WebServerKind.Lighttpd)];

    public static WebServerKind Of(string? software)
    {
        foreach (var (name, kind) in s_names)
        {
            if (software is not null && software.StartsWith(name, StringComparison.OrdinalIgnoreCase))
                return kind;
        }

        return WebServerKind.Other;
    }
}
