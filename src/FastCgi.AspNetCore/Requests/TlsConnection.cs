using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Connections.Features;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The certificate with which the client identified itself to the front-end.</summary>
/// <param name="allowsAny">Whether to show a certificate that the front-end did not verify.</param>
/// <param name="log">Receives why a certificate is not shown.</param>
internal sealed class TlsConnection(RequestParameters parameters, bool allowsAny, ILogger log) : ITlsConnectionFeature
{
    // "FAILED:" and a reason of the TLS library.
    private const int MaxVerdictLength = 200;

    public X509Certificate2? ClientCertificate { get; set; } = Read(parameters, allowsAny, log);

    /// <summary>Nothing to wait for: the front-end has requested it in the handshake, or does not.</summary>
    public Task<X509Certificate2?> GetClientCertificateAsync(CancellationToken cancellationToken) => Task.FromResult(ClientCertificate);

    private static X509Certificate2? Read(RequestParameters parameters, bool allowsAny, ILogger log)
    {
        foreach (var variable in CertificateText.Variables)
        {
            // nginx, Apache and Caddy send an empty value if there is no certificate.
            var text = parameters.GetVariable(variable);
            if (string.IsNullOrEmpty(text))
                continue;

            var verdict = parameters.GetVariable("SSL_CLIENT_VERIFY");
            if (!allowsAny && !CertificateText.IsVerified(verdict))
            {
                log.ClientCertificateNotVerified(verdict is null ? null : LogText.Clean(verdict, MaxVerdictLength));
                return null;
            }

            if (CertificateText.Parse(text) is { } certificate)
                return certificate;

            log.ClientCertificateUnreadable(variable);
        }

        return null;
    }
}

/// <summary>The TLS session between client and front-end: SSL_PROTOCOL, SSL_CIPHER and the requested name.</summary>
internal sealed class TlsHandshake(RequestParameters parameters) : ITlsHandshakeFeature
{
    public SslProtocols Protocol { get; } = TlsNames.ParseProtocol(parameters.GetVariable("SSL_PROTOCOL"));
    public TlsCipherSuite? NegotiatedCipherSuite { get; } = TlsNames.ParseCipherSuite(parameters.GetVariable("SSL_CIPHER"));

    /// <summary>The name used by mod_ssl and lighttpd, or the usual one in nginx configurations.</summary>
    public string HostName { get; } = parameters.GetVariable("SSL_TLS_SNI") ?? parameters.GetVariable("SSL_SERVER_NAME") ?? string.Empty;

    // Obsolete: the cipher suite implies all of these.
    [Obsolete(ObsoleteMessage)]
    public CipherAlgorithmType CipherAlgorithm => CipherAlgorithmType.None;

    [Obsolete(ObsoleteMessage)]
    public int CipherStrength => 0;

    [Obsolete(ObsoleteMessage)]
    public HashAlgorithmType HashAlgorithm => HashAlgorithmType.None;

    [Obsolete(ObsoleteMessage)]
    public int HashStrength => 0;

    [Obsolete(ObsoleteMessage)]
    public ExchangeAlgorithmType KeyExchangeAlgorithm => ExchangeAlgorithmType.None;

    [Obsolete(ObsoleteMessage)]
    public int KeyExchangeStrength => 0;

    private const string ObsoleteMessage = $"Use {nameof(NegotiatedCipherSuite)}.";
}
