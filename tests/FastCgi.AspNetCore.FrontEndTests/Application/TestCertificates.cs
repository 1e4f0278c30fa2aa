using System.Security.Cryptography.X509Certificates;

namespace FastCgi.AspNetCore.FrontEndTests.Application;

/// <summary>The certificates of all tests: of the web servers, and of a client that they ask for one.</summary>
internal static class TestCertificates
{
    private static readonly Certificates s_authority = new();
    private static readonly X509Certificate2 s_server = s_authority.CreateServer(FrontEndDocument.HostName);

    public static X509Certificate2 Client { get; } = s_authority.CreateClient("Ada");

    public static bool IsServer(X509Certificate? certificate)
        => certificate?.GetCertHashString() == s_server.GetCertHashString();

    /// <summary>Writes what the configurations of web servers name.</summary>
    public static async Task WriteAsync(string folder)
    {
        var certificate = s_server.ExportCertificatePem() + "\n";
        var key = s_server.GetECDsaPrivateKey()!.ExportPkcs8PrivateKeyPem() + "\n";
        await File.WriteAllTextAsync(Path.Combine(folder, "certificate.pem"), certificate);
        await File.WriteAllTextAsync(Path.Combine(folder, "key.pem"), key);
        await File.WriteAllTextAsync(Path.Combine(folder, "certificate-and-key.pem"), certificate + key);
        await File.WriteAllTextAsync(
            Path.Combine(folder, "client-ca.pem"), s_authority.Authority.ExportCertificatePem() + "\n");
    }
}
