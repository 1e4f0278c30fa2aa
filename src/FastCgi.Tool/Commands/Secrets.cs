namespace FastCgi.Tool.Commands;

/// <summary>Masks the values of sensitive parameters and headers: users paste the output into reports.</summary>
internal static class Secrets
{
    // Parts of names, because applications and web servers use many variants.
    private static readonly string[] s_parts =
        ["COOKIE", "SESSION", "AUTHORIZATION", "CREDENTIAL", "PASSW", "PASSPHRASE", "AUTH_PW", "AUTH_DIGEST",
        "SECRET", "TOKEN", "API_KEY", "APIKEY", "ACCESS_KEY", "CLIENT_CERT", "CLIENTCERT", "SSL_CERT", "PRIVATE"];

    public static string Mask(string name, string value)
    {
        var upper = name.ToUpperInvariant().Replace('-', '_');
        return value.Length > 0 && s_parts.Any(part => upper.Contains(part, StringComparison.Ordinal)) ? "***" : value;
    }
}
