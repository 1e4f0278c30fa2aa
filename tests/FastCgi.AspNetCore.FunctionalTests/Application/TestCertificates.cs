using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace FastCgi.AspNetCore.FunctionalTests.Application;

/// <summary>The certificates of all tests: of the web servers, of a client, and of the authority that vouches for the client.</summary>
internal static class TestCertificates
{
    private static readonly X509Certificate2 s_server = Create("CN=localhost", isAuthority: false, issuer: null);
    private static readonly X509Certificate2 s_clientAuthority = Create("CN=Client authority", isAuthority: true, issuer: null);

    /// <summary>The certificate of a client, with its key.</summary>
    public static X509Certificate2 Client { get; } = Create("CN=Ünal Client, O=Example", isAuthority: false, s_clientAuthority);

    /// <summary>Whether a certificate is that of the web servers.</summary>
    public static bool IsServer(X509Certificate2? certificate) => certificate?.Thumbprint == s_server.Thumbprint;

    /// <summary>Writes what the configurations of web servers name.</summary>
    public static async Task WriteAsync(string folder)
    {
        var (certificate, key) = (s_server.ExportCertificatePem() + "\n", s_server.GetECDsaPrivateKey()!.ExportPkcs8PrivateKeyPem() + "\n");
        await File.WriteAllTextAsync(Path.Combine(folder, "certificate.pem"), certificate);
        await File.WriteAllTextAsync(Path.Combine(folder, "key.pem"), key);
        await File.WriteAllTextAsync(Path.Combine(folder, "certificate-and-key.pem"), certificate + key);
        await File.WriteAllTextAsync(Path.Combine(folder, "client-ca.pem"), s_clientAuthority.ExportCertificatePem() + "\n");
    }

    private static X509Certificate2 Create(string subject, bool isAuthority, X509Certificate2? issuer)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest(subject, key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(isAuthority, false, 0, critical: true));
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName("localhost");
        names.AddIpAddress(IPAddress.Loopback);
        request.CertificateExtensions.Add(names.Build());
        var (from, to) = (DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(30));
        if (issuer is null)
            return request.CreateSelfSigned(from, to);

        using var signed = request.Create(issuer, issuer.NotBefore, issuer.NotAfter, RandomNumberGenerator.GetBytes(16));
        return signed.CopyWithPrivateKey(key);
    }
}
