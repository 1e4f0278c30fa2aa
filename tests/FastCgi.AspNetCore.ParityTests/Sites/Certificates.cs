using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace FastCgi.AspNetCore.ParityTests.Sites;

/// <summary>The certificates of the sites and of a client, and the authority that signed both.</summary>
internal sealed class Certificates : IDisposable
{
    private static readonly DateTimeOffset s_notBefore = DateTimeOffset.UtcNow.AddDays(-1);
    private static readonly DateTimeOffset s_notAfter = DateTimeOffset.UtcNow.AddDays(1);

    public Certificates()
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=Parity CA", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(certificateAuthority: true, false, 0, critical: true));
        Authority = request.CreateSelfSigned(s_notBefore, s_notAfter);
        Server = Issue($"CN={Site.HostName}", "1.3.6.1.5.5.7.3.1", serialNumber: 2);
        Client = Issue("CN=Ada Lovelace, O=Analytical Engines", "1.3.6.1.5.5.7.3.2", serialNumber: 3);
    }

    public X509Certificate2 Authority { get; }

    public X509Certificate2 Server { get; }

    public X509Certificate2 Client { get; }

    /// <summary>A client that trusts the sites, and shows its certificate if it is to.</summary>
    public SslClientAuthenticationOptions CreateClientOptions(bool sendsCertificate) => new()
    {
        TargetHost = Site.HostName,
        ClientCertificates = sendsCertificate ? [Client] : null,
        CertificateChainPolicy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust,
            CustomTrustStore = { Authority },
            RevocationMode = X509RevocationMode.NoCheck,
        },
    };

    /// <summary>Writes the files that the configurations of the web servers name.</summary>
    public void WriteTo(string folder)
    {
        File.WriteAllText(Path.Combine(folder, "authority.pem"), Authority.ExportCertificatePem());
        File.WriteAllText(Path.Combine(folder, "server.pem"), Server.ExportCertificatePem());
        using var key = Server.GetECDsaPrivateKey()!;
        File.WriteAllText(Path.Combine(folder, "server.key"), key.ExportPkcs8PrivateKeyPem());
    }

    public void Dispose()
    {
        Authority.Dispose();
        Server.Dispose();
        Client.Dispose();
    }

    private X509Certificate2 Issue(string subject, string usage, byte serialNumber)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var alternativeNames = new SubjectAlternativeNameBuilder();
        alternativeNames.AddDnsName(Site.HostName);
        var request = new CertificateRequest(subject, key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509EnhancedKeyUsageExtension([new Oid(usage)], critical: false));
        request.CertificateExtensions.Add(alternativeNames.Build());
        using var certificate = request.Create(Authority, s_notBefore, s_notAfter, [serialNumber]);
        return certificate.CopyWithPrivateKey(key);
    }
}
