using System.Security.Cryptography.X509Certificates;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Http.Features;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The certificate with which the client identified itself to the front-end. Made when first asked for.</summary>
internal sealed class TlsConnection(RequestParameters parameters, ServerContext server) : ITlsConnectionFeature
{
    public X509Certificate2? ClientCertificate { get; set; } = Read(parameters, server);

    /// <summary>The front-end asked for it in the handshake, or does not ask: there is nothing to wait for.</summary>
    public Task<X509Certificate2?> GetClientCertificateAsync(CancellationToken cancellationToken) => Task.FromResult(ClientCertificate);

    private static X509Certificate2? Read(RequestParameters parameters, ServerContext server)
    {
        foreach (var variable in CertificateText.Variables)
        {
            // nginx, Apache and Caddy send it empty where there is none.
            var text = parameters.GetVariable(variable, server.Mapping);
            if (string.IsNullOrEmpty(text))
                continue;

            var verdict = parameters.GetVariable("SSL_CLIENT_VERIFY", server.Mapping);
            if (!server.Options.AllowAnyClientCertificate && !CertificateText.IsVerified(verdict))
            {
                server.Log.ClientCertificateNotVerified(verdict);
                return null;
            }

            if (CertificateText.Parse(text) is { } certificate)
                return certificate;

            server.Log.ClientCertificateUnreadable(variable);
        }

        return null;
    }
}
