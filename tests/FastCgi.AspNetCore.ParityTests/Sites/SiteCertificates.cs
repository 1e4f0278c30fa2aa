using System.Security.Cryptography.X509Certificates;

namespace FastCgi.AspNetCore.ParityTests.Sites;

/// <summary>The certificates of the sites and of a client, and the authority that signed both.</summary>
internal sealed class SiteCertificates : IDisposable
{
    private readonly Certificates _authority = new("Parity CA");

    public SiteCertificates()
    {
        Server = _authority.CreateServer(Site.HostName);
        Client = _authority.CreateClient("Ada Lovelace, O=Analytical Engines");
    }

    public X509Certificate2 Server { get; }

    public X509Certificate2 Client { get; }

    /// <summary>A client that trusts the sites, and optionally sends its certificate.</summary>
    public SslClientAuthenticationOptions CreateClientOptions(bool sendsCertificate) => new()
    {
        TargetHost = Site.HostName,
        ClientCertificates = sendsCertificate ? [Client] : null,
        CertificateChainPolicy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust,
            CustomTrustStore = { _authority.Authority },
            RevocationMode = X509RevocationMode.NoCheck,
        },
    };

    /// <summary>Writes the files that the configurations of the web servers name.</summary>
    public void WriteTo(string folder)
    {
        File.WriteAllText(Path.Combine(folder, "authority.pem"), _authority.Authority.ExportCertificatePem());
        File.WriteAllText(Path.Combine(folder, "server.pem"), Server.ExportCertificatePem());
        using var key = Server.GetECDsaPrivateKey()!;
        File.WriteAllText(Path.Combine(folder, "server.key"), key.ExportPkcs8PrivateKeyPem());
    }

    public void Dispose()
    {
        _authority.Dispose();
        Server.Dispose();
        Client.Dispose();
    }
}
