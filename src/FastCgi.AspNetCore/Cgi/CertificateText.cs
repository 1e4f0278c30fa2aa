using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace FastCgi.AspNetCore.Cgi;

internal static class CertificateText
{
    /// <summary>The parameters of mod_ssl and lighttpd, of nginx (two), and of HAProxy.</summary>
    public static readonly string[] Variables =
        ["SSL_CLIENT_CERT", "SSL_CLIENT_ESCAPED_CERT", "SSL_CLIENT_RAW_CERT", "SSL_CLIENT_CERT_DER_B64"];

    /// <summary>SSL_CLIENT_VERIFY; HAProxy passes OpenSSL's result code, where 0 means valid.</summary>
    public static bool IsVerified(string? verdict) => verdict is "SUCCESS" or "0";

    /// <summary>Parses PEM with any line separator (nginx: TAB; a header: space), or base64-encoded DER.</summary>
    public static X509Certificate2? Parse(string text)
    {
        // $ssl_client_escaped_cert of nginx: only this format contains percent signs. A plus sign is not an escape.
        if (text.Contains('%', StringComparison.Ordinal))
            text = Uri.UnescapeDataString(text);

        var base64 = FindBase64(text);
        var der = new byte[base64.Length / 4 * 3];
        if (!Convert.TryFromBase64Chars(base64, der, out var length))
            return null;

        try
        {
            return X509CertificateLoader.LoadCertificate(der.AsSpan(0, length));
        }
        catch (CryptographicException)
        {
            return null;
        }
    }

    private static ReadOnlySpan<char> FindBase64(ReadOnlySpan<char> text)
    {
        if (!PemEncoding.TryFind(text, out var pem))
            return text;

        return text[pem.Label] is "CERTIFICATE" ? text[pem.Base64Data] : default;
    }
}
