using System.Security.Cryptography.X509Certificates;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>What the application sees of the TLS connection between the client and the web server.</summary>
public sealed class TlsTests : IDisposable
{
    private readonly Certificates _certificates = new();
    private readonly X509Certificate2 _client;
    private readonly string _pem;

    public TlsTests()
    {
        _client = _certificates.CreateClient("Jane Client");
        _pem = _client.ExportCertificatePem();
    }

    public void Dispose()
    {
        _client.Dispose();
        _certificates.Dispose();
    }

    [Theory]
    [InlineData("SSL_CLIENT_CERT", "SUCCESS", true)]
    [InlineData("SSL_CLIENT_ESCAPED_CERT", "SUCCESS", true)]
    [InlineData("SSL_CLIENT_RAW_CERT", "SUCCESS", true)]
    [InlineData("SSL_CLIENT_CERT_DER_B64", "0", true)]
    [InlineData("SSL_CLIENT_CERT", "NONE", false)]
    [InlineData("SSL_CLIENT_CERT", "GENEROUS", false)]
    [InlineData("SSL_CLIENT_CERT", "FAILED:certificate has expired", false)]
    [InlineData("SSL_CLIENT_CERT", "10", false)]
    [InlineData("SSL_CLIENT_CERT", "", false)]
    [InlineData("SSL_CLIENT_CERT", null, false)]
    public async Task PARAMS_CertificateInAnyVariable_IsShownIfVerifiedOrAllowed(
        string variable, string? verdict, bool isVerified)
    {
        var text = variable switch
        {
            "SSL_CLIENT_ESCAPED_CERT" => Uri.EscapeDataString(_pem),
            "SSL_CLIENT_CERT_DER_B64" => Convert.ToBase64String(_client.RawData),
            _ => _pem,
        };
        (string, string)[] parameters = [("HTTPS", "on"), ("SSL_CLIENT_CERT", ""), (variable, text)];
        if (verdict is not null)
            parameters = [.. parameters, ("SSL_CLIENT_VERIFY", verdict)];

        foreach (var allows in new[] { false, true })
        {
            X509Certificate2? seen = null;
            await TestServer.AskAsync(
                async context => seen = await context.Connection.GetClientCertificateAsync(),
                options => options.AllowUnverifiedClientCertificate = allows,
                RecordBytes.Get(more: parameters));
            Assert.Equal(isVerified || allows ? _client.Thumbprint : null, seen?.Thumbprint);
        }
    }

    /// <summary>Behind a front-end without TLS, such variables can only be its configuration's mistake.</summary>
    [Fact]
    public async Task PARAMS_NotOverTls_FeaturesAreAbsent()
    {
        await TestServer.AskAsync(
            Apps.Do(static context =>
            {
                Assert.Null(context.Features.Get<ITlsConnectionFeature>());
                Assert.DoesNotContain(
                    context.Features,
                    static feature => feature.Key.Name.StartsWith("ITls", StringComparison.Ordinal));
                Assert.Null(context.Connection.ClientCertificate);
            }),
            RecordBytes.Get(more: [("SSL_CLIENT_VERIFY", "SUCCESS"), ("SSL_CLIENT_CERT", _pem)]));
    }

    [Fact]
    public async Task Certificate_SetByMiddleware_IsWhatTheApplicationSees()
    {
        await TestServer.AskAsync(
            Apps.Do(context =>
            {
                context.Connection.ClientCertificate = _client;
                Assert.Same(_client, context.Connection.ClientCertificate);
                Assert.Same(_client, context.Features.Get<ITlsConnectionFeature>()!.ClientCertificate);
            }),
            RecordBytes.Get(more: ("HTTPS", "on")));
    }
}
