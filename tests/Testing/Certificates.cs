using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace FastCgi.AspNetCore.Testing;

/// <summary>Certificates for tests: an authority, and certificates that it has signed.</summary>
public sealed class Certificates : IDisposable
{
    private static readonly DateTimeOffset s_from = DateTimeOffset.UtcNow.AddDays(-1);
    private static readonly DateTimeOffset s_until = DateTimeOffset.UtcNow.AddDays(30);

    public Certificates(string name = "Test Authority")
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(
            new X509BasicConstraintsExtension(certificateAuthority: true, false, 0, critical: true));
        request.CertificateExtensions.Add(
            new X509KeyUsageExtension(X509KeyUsageFlags.KeyCertSign | X509KeyUsageFlags.CrlSign, critical: true));
        request.CertificateExtensions.Add(new X509SubjectKeyIdentifierExtension(request.PublicKey, critical: false));
        Authority = request.CreateSelfSigned(s_from, s_until);
    }

    public X509Certificate2 Authority { get; }

    public X509Certificate2 CreateClient(string name) => Create(name, "1.3.6.1.5.5.7.3.2", alternativeNames: null);

    /// <summary>A certificate of a server on this machine, with its key.</summary>
    public X509Certificate2 CreateServer(params IEnumerable<string> moreNames)
    {
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName("localhost");
        names.AddIpAddress(IPAddress.Loopback);
        foreach (var name in moreNames)
            names.AddDnsName(name);
        return Create("localhost", "1.3.6.1.5.5.7.3.1", names.Build());
    }

    public void Dispose() => Authority.Dispose();

    private X509Certificate2 Create(string name, string usage, X509Extension? alternativeNames)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(
            new X509BasicConstraintsExtension(certificateAuthority: false, false, 0, critical: true));
        request.CertificateExtensions.Add(new X509EnhancedKeyUsageExtension([new Oid(usage)], critical: false));
        if (alternativeNames is not null)
            request.CertificateExtensions.Add(alternativeNames);

        using var certificate = request.Create(Authority, s_from, s_until, RandomNumberGenerator.GetBytes(8));
        return certificate.CopyWithPrivateKey(key);
    }
}
