using System.Security.Cryptography.X509Certificates;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The certificate with which the client identified itself to the web server.</summary>
/// <param name="allowsAny">Whether to show a certificate that the web server did not verify.</param>
internal sealed class TlsConnection(RequestParameters parameters, bool allowsAny, ILogger log) : ITlsConnectionFeature
{
    // "FAILED:" and the reason of the TLS library.
    private const int MaxVerdictLength = 200;

    public X509Certificate2? ClientCertificate { get; set; } = Read(parameters, allowsAny, log);

    /// <summary>Completes at once: the web server requests the certificate in the handshake or never.</summary>
    public Task<X509Certificate2?> GetClientCertificateAsync(CancellationToken cancellationToken)
        => Task.FromResult(ClientCertificate);

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
