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
    public async Task PARAMS_CertificateInAnyVariable_IsShownIfItIsVerifiedOrTheOptionSaysSo(
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
            var seen = await SeeAsync(
                static context => context.Connection.GetClientCertificateAsync().GetAwaiter().GetResult(),
                options => options.AllowUnverifiedClientCertificate = allows,
                parameters);
            Assert.Equal(isVerified || allows ? _client.Thumbprint : null, seen?.Thumbprint);
        }
    }

    /// <summary>Behind a front-end without TLS, such variables can only be its configuration's mistake.</summary>
    [Fact]
    public async Task PARAMS_NotOverTls_FeaturesAreAbsent()
    {
        var seen = await SeeAsync(
            static context => (
                context.Features.Get<ITlsConnectionFeature>(),
                context.Features.Any(static feature => feature.Key.Name.StartsWith("ITls", StringComparison.Ordinal)),
                context.Connection.ClientCertificate),
            ("SSL_CLIENT_VERIFY", "SUCCESS"),
            ("SSL_CLIENT_CERT", _pem));

        Assert.Equal((null, false, null), seen);
    }

    [Fact]
    public async Task Certificate_SetByMiddleware_IsWhatTheApplicationSees()
    {
        var seen = await SeeAsync(
            context =>
            {
                context.Connection.ClientCertificate = _client;
                return (
                    context.Connection.ClientCertificate,
                    context.Features.Get<ITlsConnectionFeature>()!.ClientCertificate);
            },
            ("HTTPS", "on"));

        Assert.Equal((_client, _client), seen);
    }

    private static Task<T> SeeAsync<T>(Func<HttpContext, T> look, params (string Name, string Value)[] parameters)
        => SeeAsync(look, configure: null, parameters);

    private static async Task<T> SeeAsync<T>(
        Func<HttpContext, T> look,
        Action<FastCgiServerOptions>? configure,
        params (string Name, string Value)[] parameters)
    {
        var seen = Waiting.Signal<T>();
        var response = await TestServer.AskAsync(
            context =>
            {
                seen.SetResult(look(context));
                return Apps.Hello(context);
            },
            configure, RecordBytes.Get(more: parameters));

        Assert.Equal(200, response.Status);
        return await seen.Task.Within("the application");
    }
}
