using System.Security.Cryptography.X509Certificates;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The certificate with which the client identified itself to the front-end. Made when first asked for.</summary>
/// <param name="parameters">The params.</param>
/// <param name="allowsAny">Whether the application sees a certificate that the front-end did not find valid.</param>
/// <param name="log">Where it is said why a certificate is not shown.</param>
internal sealed class TlsConnection(RequestParameters parameters, bool allowsAny, ILogger log) : ITlsConnectionFeature
{
    // "FAILED:" and a reason of the TLS library.
    private const int MaxVerdictLength = 200;

    public X509Certificate2? ClientCertificate { get; set; } = Read(parameters, allowsAny, log);

    /// <summary>The front-end asked for it in the handshake, or does not ask: there is nothing to wait for.</summary>
    public Task<X509Certificate2?> GetClientCertificateAsync(CancellationToken cancellationToken) => Task.FromResult(ClientCertificate);

    private static X509Certificate2? Read(RequestParameters parameters, bool allowsAny, ILogger log)
    {
        foreach (var variable in CertificateText.Variables)
        {
            // nginx, Apache and Caddy send it empty where there is none.
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
