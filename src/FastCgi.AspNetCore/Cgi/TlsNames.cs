using System.Net.Security;
using System.Security.Authentication;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>The names of TLS versions and cipher suites: OpenSSL's, and the standard names for TLS 1.3.</summary>
internal static class TlsNames
{
    public static SslProtocols ParseProtocol(string? name) => name switch
    {
        "TLSv1.3" => SslProtocols.Tls13,
        "TLSv1.2" => SslProtocols.Tls12,
#pragma warning disable SYSLIB0039, CA5397 // Obsolete, but the web server may have negotiated them.
        "TLSv1.1" => SslProtocols.Tls11,
        "TLSv1" => SslProtocols.Tls,
#pragma warning restore SYSLIB0039, CA5397
        _ => SslProtocols.None,
    };

    /// <summary>SSL_CIPHER, such as ECDHE-RSA-AES128-SHA256, which is TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256. CBC and RSA have no name in OpenSSL.</summary>
    public static TlsCipherSuite? ParseCipherSuite(string? name)
    {
        if (name is not null && !name.StartsWith("TLS_", StringComparison.Ordinal))
        {
            var start = Math.Max(name.IndexOf("AES", StringComparison.Ordinal), name.IndexOf("CHACHA20", StringComparison.Ordinal));
            var exchange = start > 0 ? name[..(start - 1)] : "RSA";
            var cipher = name[Math.Max(start, 0)..].Replace("AES", "AES-", StringComparison.Ordinal);
            cipher = cipher.StartsWith("CHACHA20", StringComparison.Ordinal) ? cipher + "-SHA256"
                : cipher.Contains("GCM", StringComparison.Ordinal) ? cipher
                : cipher.Replace("-SHA", "-CBC-SHA", StringComparison.Ordinal);
            name = $"TLS_{exchange}_WITH_{cipher}".Replace('-', '_');
        }

        return Enum.TryParse<TlsCipherSuite>(name, out var suite) ? suite : null;
    }
}
