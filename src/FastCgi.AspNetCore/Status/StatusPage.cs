using System.Security.Cryptography;
using System.Text.Json;

namespace FastCgi.AspNetCore.Status;

/// <summary>The page: one document with its style, its script and the first snapshot. It loads nothing else.</summary>
internal static class StatusPage
{
    private static readonly Lazy<string> s_template = new(Load);

    /// <summary>Writes it.</summary>
    /// <param name="status">What it shows first.</param>
    /// <param name="policy">The Content-Security-Policy that lets its own script run, and nothing else.</param>
    public static string Write(StatusSnapshot status, out string policy)
    {
        var nonce = Convert.ToBase64String(RandomNumberGenerator.GetBytes(16));
        policy = $"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";
        // The writer escapes <, > and &, so that no text of a client ends the element.
        return s_template.Value
            .Replace("\"NONCE\"", $"\"{nonce}\"", StringComparison.Ordinal)
            .Replace("SNAPSHOT", JsonSerializer.Serialize(status, StatusJson.Default.StatusSnapshot), StringComparison.Ordinal);
    }

    private static string Load()
    {
        using var stream = typeof(StatusPage).Assembly.GetManifestResourceStream("FastCgi.AspNetCore.Status.StatusPage.html")!;
        using var reader = new StreamReader(stream);
        return reader.ReadToEnd();
    }
}
