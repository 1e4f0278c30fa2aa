using System.Security.Cryptography;
using System.Text.Json;

namespace FastCgi.AspNetCore.Status;

internal static class StatusPage
{
    private static readonly Lazy<string> s_template = new(Load);

    public static string Write(StatusSnapshot status, out string policy)
    {
        var nonce = Convert.ToBase64String(RandomNumberGenerator.GetBytes(16));
        policy =
            $"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; connect-src 'self'; "
                + "base-uri 'none'; frame-ancestors 'none'";
        // JSON escapes <, > and &, so client text cannot end the element.
        return s_template.Value
            .Replace("\"NONCE\"", $"\"{nonce}\"", StringComparison.Ordinal)
            .Replace(
                "SNAPSHOT", JsonSerializer.Serialize(status, StatusJson.Default.StatusSnapshot),
                    StringComparison.Ordinal);
    }

    private static string Load()
    {
        using var stream = typeof(StatusPage).Assembly.GetManifestResourceStream(
            "FastCgi.AspNetCore.Status.StatusPage.html")!;
        using var reader = new StreamReader(stream);
        return reader.ReadToEnd();
    }
}
