using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>The client's certificate, in every spelling in which front-ends pass it.</summary>
internal static class CertificateText
{
    /// <summary>The variables that it comes in: mod_ssl's and lighttpd's name, those of nginx, and that of HAProxy.</summary>
    public static readonly string[] Variables = ["SSL_CLIENT_CERT", "SSL_CLIENT_ESCAPED_CERT", "SSL_CLIENT_RAW_CERT", "SSL_CLIENT_CERT_DER_B64"];

    /// <summary>Whether SSL_CLIENT_VERIFY says that the front-end found it valid. HAProxy passes OpenSSL's code, where 0 is valid.</summary>
    public static bool IsVerified(string? verdict) => verdict is "SUCCESS" or "0";

    /// <summary>Reads PEM, whose lines end with anything (TAB in nginx, blank where it was a header), or base64 of DER.</summary>
    /// <returns><see langword="null"/> if it is neither.</returns>
    public static X509Certificate2? Parse(string text)
    {
        // $ssl_client_escaped_cert of nginx. There is no other percent sign, and a plus sign stays what it is.
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
