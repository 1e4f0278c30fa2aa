namespace FastCgi.Tool.Commands;

/// <summary>Parameters and headers whose values are not shown unless that is asked for: output is pasted into reports.</summary>
internal static class Secrets
{
    public const string Masked = "***";

    // Parts of names, of which applications and front-ends make many.
    private static readonly string[] s_parts = ["COOKIE", "SESSION", "AUTHORIZATION", "CREDENTIAL", "PASSW", "PASSPHRASE", "AUTH_PW", "AUTH_DIGEST",
        "SECRET", "TOKEN", "API_KEY", "APIKEY", "ACCESS_KEY", "CLIENT_CERT", "CLIENTCERT", "SSL_CERT", "PRIVATE"];

    public static bool IsSecret(string name)
    {
        var upper = name.ToUpperInvariant().Replace('-', '_');
        return s_parts.Any(part => upper.Contains(part, StringComparison.Ordinal));
    }

    public static string Show(string name, string value, bool showsSecrets) => showsSecrets || value.Length == 0 || !IsSecret(name) ? value : Masked;
}
