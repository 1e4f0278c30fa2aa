namespace FastCgi.AspNetCore.Advice;

/// <summary>The web servers for which there are lines to add.</summary>
internal enum WebServerKind : byte
{
    /// <summary>Another one, or one that does not tell.</summary>
    Other,
    Nginx,
    Apache,
    HaProxy,
    Lighttpd,
}

/// <summary>Tells web servers apart by SERVER_SOFTWARE.</summary>
internal static class WebServerKinds
{
    private static readonly (string Name, WebServerKind Kind)[] s_names =
        [("nginx", WebServerKind.Nginx), ("Apache", WebServerKind.Apache), ("HAProxy", WebServerKind.HaProxy), ("lighttpd", WebServerKind.Lighttpd)];

    /// <summary>The kind of a web server.</summary>
    /// <param name="software">SERVER_SOFTWARE: the name, and behind it the version.</param>
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
