using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using FastCgi.AspNetCore.Testing;

namespace FastCgi.AspNetCore.FunctionalTests.Documents;

/// <summary>An application behind a web server that is configured by a block of a document, and its clients.</summary>
internal sealed class DocumentedSite : IAsyncDisposable
{
    // openssl passwd -apr1 -salt abcdefgh secret
    private const string Members = "jane:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/\n";

    private const UnixFileMode SocketMode = UnixFileMode.UserRead | UnixFileMode.UserWrite
        | UnixFileMode.GroupRead | UnixFileMode.GroupWrite | UnixFileMode.OtherRead | UnixFileMode.OtherWrite;

    private readonly ScratchFolder _folder = new();
    private TestApplication? _application;
    private DocumentedFrontEnd? _frontEnd;
    private string _scheme = Uri.UriSchemeHttp;

    private DocumentedSite()
    {
    }

    /// <summary>What has signed the certificates of the web server and its clients.</summary>
    public Certificates Certificates { get; } = new();

    public TestLog Log => _application!.Log;

    /// <summary>What the web server logged: errors, and requests where the block asks for them.</summary>
    public string FrontEndLog => _frontEnd!.Log + (File.Exists(PathOf("app.log")) ? File.ReadAllText(PathOf("app.log")) : string.Empty);

    /// <param name="document">The document.</param>
    /// <param name="blockName">The name of the block. Its first word is the web server.</param>
    /// <param name="configure">Maps the application's endpoints.</param>
    /// <param name="configureServer">Sets options of the server.</param>
    /// <param name="configureBuilder">Adds services.</param>
    public static async Task<DocumentedSite> StartAsync(
        string document,
        string blockName,
        Action<WebApplication> configure,
        Action<FastCgiServerOptions>? configureServer = null,
        Action<WebApplicationBuilder>? configureBuilder = null)
    {
        var site = new DocumentedSite();
        try
        {
            var kind = Enum.Parse<FrontEndKind>(blockName.Split(' ')[0], ignoreCase: true);
            var block = await DocumentBlock.ReadAsync(document, blockName);
            if (block.Contains("443", StringComparison.Ordinal))
                site._scheme = Uri.UriSchemeHttps;
            await site.WriteFilesAsync();

            var socket = site.PathOf("app.sock");
            var application = await TestApplication.StartAsync($"fastcgi://unix:{socket}", configure, configureServer, configureBuilder);
            site._application = application;
            File.SetUnixFileMode(socket, SocketMode);
            site._frontEnd = await FrontEnd.StartAsync(new DocumentedFrontEnd(kind, block, site._folder.Path, application.EndPoint));
            return site;
        }
        catch
        {
            await site.DisposeAsync();
            throw;
        }
    }

    /// <summary>A client of the site, with a certificate or without.</summary>
    public HttpClient CreateClient(X509Certificate2? certificate = null) => new(new SocketsHttpHandler
    {
        AllowAutoRedirect = false,
        UseProxy = false,
        SslOptions = new SslClientAuthenticationOptions
        {
            LocalCertificateSelectionCallback = certificate is null ? null : (_, _, _, _, _) => certificate,
            CertificateChainPolicy = new X509ChainPolicy
            {
                TrustMode = X509ChainTrustMode.CustomRootTrust,
                CustomTrustStore = { Certificates.Authority },
                RevocationMode = X509RevocationMode.NoCheck,
            },
        },
    })
    {
        BaseAddress = new Uri($"{_scheme}://localhost:{_frontEnd!.EndPoint.Port}"),
    };

    public async ValueTask DisposeAsync()
    {
        if (_frontEnd is not null)
            await _frontEnd.DisposeAsync();
        if (_application is not null)
            await _application.DisposeAsync();
        Certificates.Dispose();
        _folder.Dispose();
        _application?.Log.Verify();
    }

    private string PathOf(string file) => Path.Combine(_folder.Path, file);

    /// <summary>The files that the blocks name.</summary>
    private async Task WriteFilesAsync()
    {
        using var server = Certificates.CreateServer();
        using var key = server.GetECDsaPrivateKey()!;
        Directory.CreateDirectory(PathOf("www"));
        await File.WriteAllTextAsync(PathOf("www.pem"), server.ExportCertificatePem());
        await File.WriteAllTextAsync(PathOf("www.key"), key.ExportPkcs8PrivateKeyPem());
        await File.WriteAllTextAsync(PathOf("client-ca.pem"), Certificates.Authority.ExportCertificatePem());
        await File.WriteAllTextAsync(PathOf("members"), Members);
        await File.WriteAllTextAsync(PathOf("www/static.txt"), "a file");
        await File.WriteAllTextAsync(PathOf("www/app"), "");
    }
}
