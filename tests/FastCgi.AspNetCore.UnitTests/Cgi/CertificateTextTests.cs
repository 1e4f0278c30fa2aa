using System.Security.Cryptography.X509Certificates;

namespace FastCgi.AspNetCore.UnitTests.Cgi;

public sealed class CertificateTextTests : IDisposable
{
    private readonly Certificates _certificates = new();
    private readonly X509Certificate2 _client;

    public CertificateTextTests()
    {
        _client = _certificates.CreateClient("Jane Client");
    }

    /// <summary>How a front-end, or a proxy before it, writes a PEM certificate.</summary>
    public static TheoryData<string, Func<string, string>> Spellings => new()
    {
        { "Apache, lighttpd", static pem => pem + "\n" },
        { "Apache on Windows", static pem => pem.Replace("\n", "\r\n") },
        { "nginx $ssl_client_cert", static pem => pem.Replace("\n", "\n\t") },
        { "nginx $ssl_client_escaped_cert", Uri.EscapeDataString },
        { "nginx $ssl_client_escaped_cert, as little as it may "
            + "be",
            static pem => pem.Replace(" ", "%20").Replace("\n", "%0A").Replace("+", "%2B").Replace("/", "%2F") },
        { "a header that was one line", static pem => pem.Replace('\n', ' ') },
        { "a header with tabs", static pem => pem.Replace('\n', '\t') },
        { "with its chain", static pem => pem + "\n" + pem },
        { "openssl x509 -text", static pem => "Certificate:\n    Version: 3\n" + pem },
        { "HAProxy %[ssl_c_der,base64]", static pem => string.Concat(pem.Split('\n').Where(
            static line => !line.StartsWith('-'))) },
    };

    public void Dispose()
    {
        _client.Dispose();
        _certificates.Dispose();
    }

    [Theory]
    [MemberData(nameof(Spellings))]
    public void Parse_AnySpelling_IsTheCertificate(string frontEnd, Func<string, string> spell)
    {
        using var parsed = CertificateText.Parse(spell(_client.ExportCertificatePem()));

        Assert.True(parsed is not null, frontEnd);
        Assert.Equal(_client.RawData, parsed.RawData);
        Assert.False(parsed.HasPrivateKey);
    }

    [Theory]
    [InlineData(" ", "(null)", "%zz", "TUlJ")]
    [InlineData("-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\nTUlJ\n-----END CERTIFICATE-----")]
    [InlineData("-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----")]
    [InlineData("-----BEGIN PUBLIC KEY-----\nTUlJ\n-----END PUBLIC KEY-----")]
    public void Parse_NoCertificate_IsNull(params string[] texts)
        => Assert.All(texts, static text => Assert.Null(CertificateText.Parse(text)));

    [Fact]
    public void Parse_CutCertificate_IsNull()
    {
        var pem = _client.ExportCertificatePem();

        for (var length = 1; length < pem.Length - 1; length += 7)
            Assert.Null(CertificateText.Parse(pem[..length]));
    }

    [Theory]
    [InlineData(true, "SUCCESS", "0")]
    [InlineData(false, "NONE", "GENEROUS", "FAILED:self-signed certificate", "18", "success", "", null)]
    public void IsVerified_EachVerdict_OnlySuccessIsTrue(bool expected, params string?[] verdicts)
        => Assert.All(verdicts, verdict => Assert.Equal(expected, CertificateText.IsVerified(verdict)));
}
