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

    /// <summary>SSL_CIPHER, if it is a suite that current servers negotiate.</summary>
    public static TlsCipherSuite? ParseCipherSuite(string? name)
    {
        if (name is null)
            return null;

        if (name.StartsWith("TLS_", StringComparison.Ordinal))
            return Enum.TryParse<TlsCipherSuite>(name, out var suite) ? suite : null;

        return name switch
        {
            "ECDHE-ECDSA-AES256-GCM-SHA384" => TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            "ECDHE-RSA-AES256-GCM-SHA384" => TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            "ECDHE-ECDSA-AES128-GCM-SHA256" => TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            "ECDHE-RSA-AES128-GCM-SHA256" => TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            "ECDHE-ECDSA-CHACHA20-POLY1305" => TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            "ECDHE-RSA-CHACHA20-POLY1305" => TlsCipherSuite.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            "DHE-RSA-AES256-GCM-SHA384" => TlsCipherSuite.TLS_DHE_RSA_WITH_AES_256_GCM_SHA384,
            "DHE-RSA-AES128-GCM-SHA256" => TlsCipherSuite.TLS_DHE_RSA_WITH_AES_128_GCM_SHA256,
            "DHE-RSA-CHACHA20-POLY1305" => TlsCipherSuite.TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            "ECDHE-ECDSA-AES256-SHA384" => TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384,
            "ECDHE-RSA-AES256-SHA384" => TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384,
            "ECDHE-ECDSA-AES128-SHA256" => TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,
            "ECDHE-RSA-AES128-SHA256" => TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256,
            "ECDHE-ECDSA-AES256-SHA" => TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
            "ECDHE-RSA-AES256-SHA" => TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
            "ECDHE-ECDSA-AES128-SHA" => TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,
            "ECDHE-RSA-AES128-SHA" => TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
            "AES256-GCM-SHA384" => TlsCipherSuite.TLS_RSA_WITH_AES_256_GCM_SHA384,
            "AES128-GCM-SHA256" => TlsCipherSuite.TLS_RSA_WITH_AES_128_GCM_SHA256,
            "AES256-SHA256" => TlsCipherSuite.TLS_RSA_WITH_AES_256_CBC_SHA256,
            "AES128-SHA256" => TlsCipherSuite.TLS_RSA_WITH_AES_128_CBC_SHA256,
            "AES256-SHA" => TlsCipherSuite.TLS_RSA_WITH_AES_256_CBC_SHA,
            "AES128-SHA" => TlsCipherSuite.TLS_RSA_WITH_AES_128_CBC_SHA,
            _ => null,
        };
    }
}
