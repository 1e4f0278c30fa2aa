namespace FastCgi.Tool.Commands;

/// <summary>Parameters and headers whose values are not shown unless that is asked for: output is pasted into reports.</summary>
internal static class Secrets
{
    // Parts of names, of which applications and front-ends make many.
    private static readonly string[] s_parts = ["COOKIE", "SESSION", "AUTHORIZATION", "CREDENTIAL", "PASSW", "PASSPHRASE", "AUTH_PW", "AUTH_DIGEST",
        "SECRET", "TOKEN", "API_KEY", "APIKEY", "ACCESS_KEY", "CLIENT_CERT", "CLIENTCERT", "SSL_CERT", "PRIVATE"];

    public static string Mask(string name, string value)
    {
        var upper = name.ToUpperInvariant().Replace('-', '_');
        return value.Length > 0 && s_parts.Any(part => upper.Contains(part, StringComparison.Ordinal)) ? "***" : value;
    }
}
