using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>
/// The configurations in <c>docs/front-ends/apache-mod-fcgid.md</c> work unchanged, except for ports and folders.
/// </summary>
public sealed class ModFcgidDocumentTests : IDisposable
{
    private static readonly string s_noBody = Hash([]);

    private readonly ScratchFolder _folder = new();
    private readonly Certificates _certificates = new();

    public void Dispose()
    {
        _certificates.Dispose();
        _folder.Dispose();
    }

    [Fact]
    public async Task Minimal_Unchanged_ServesTheApplication()
    {
        await using var server = await StartAsync(isFull: false);

        Assert.Equal($"GET http 127.0.0.1  /a b ?c=%20 127.0.0.1   {s_noBody}", await server.GetAsync("/a%20b?c=%20"));
        await AssertNothingIsLoggedAsync();
    }

    [Fact]
    public async Task Full_Unchanged_ServesEverything()
    {
        using var certificate = _certificates.CreateServer(FrontEndDocument.HostName);
        await File.WriteAllTextAsync(Path.Combine(_folder.Path, "certificate.pem"), certificate.ExportCertificatePem());
        await File.WriteAllTextAsync(
            Path.Combine(_folder.Path, "key.pem"), certificate.GetECDsaPrivateKey()!.ExportPkcs8PrivateKeyPem());
        await File.WriteAllTextAsync(
            Path.Combine(_folder.Path, "client-ca.pem"), _certificates.Authority.ExportCertificatePem());
        await using var server = await StartAsync(isFull: true);
        using var clientCertificate = _certificates.CreateClient("Ada");
        var body = RandomNumberGenerator.GetBytes(5_000_000);

        Assert.Equal(
            $"POST https {FrontEndDocument.HostName} /app /a%2Fb ?c 127.0.0.1 Bearer token "
                + $"{clientCertificate.GetCertHashString()} {Hash(body)}",
            await server.SendAsync(
                certificate, clientCertificate, $"https://{FrontEndDocument.HostName}/app/a%2Fb?c", body));
        Assert.Equal(
            $"POST https {FrontEndDocument.HostName}  /a ?c 127.0.0.1 Bearer token  {s_noBody}",
            await server.SendAsync(
                certificate, clientCertificate: null, $"https://{FrontEndDocument.HostName}/a?c", []));
        await AssertNothingIsLoggedAsync();
    }

    /// <summary>Apache's log contains the application's log, which has no warnings.</summary>
    private async Task AssertNothingIsLoggedAsync()
    {
        var log = await File.ReadAllTextAsync(Path.Combine(_folder.Path, "error.log"));
        Assert.Contains("Now listening on: fastcgi://", log);
        Assert.DoesNotContain("warn: FastCgi", log);
    }

    private static string Hash(byte[] bytes) => Convert.ToHexString(SHA256.HashData(bytes));

    private Task<SpawningServer> StartAsync(bool isFull)
    {
        var document = new FrontEndDocument("apache-mod-fcgid")
            .GetConfiguration(isFull ? FrontEndDocument.Full : FrontEndDocument.Smallest, "{{port}}")
            .Replace("/srv/hello/hello", "{{folder}}/app/ApplicationToStart")
            .Replace("/srv/hello", "{{folder}}/app")
            .Replace("/usr/share/dotnet", "{{dotnet}}")
            .Replace("/etc/ssl/hello", "{{folder}}");
        return SpawningServer.StartApacheWithDocumentAsync(_folder, document);
    }
}
