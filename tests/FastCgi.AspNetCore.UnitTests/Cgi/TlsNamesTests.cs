using System.Net.Security;
using System.Security.Authentication;

namespace FastCgi.AspNetCore.UnitTests.Cgi;

public sealed class TlsNamesTests
{
    [Theory]
    [InlineData("TLSv1.3", SslProtocols.Tls13)]
    [InlineData("TLSv1.2", SslProtocols.Tls12)]
    [InlineData("TLSv1.1", (SslProtocols)0x300)]
    [InlineData("TLSv1", (SslProtocols)0xC0)]
    [InlineData("SSLv3", SslProtocols.None)]
    [InlineData("", SslProtocols.None)]
    [InlineData(null, SslProtocols.None)]
    public void ParseProtocol_Name_IsTheVersion(string? name, SslProtocols expected) => Assert.Equal(expected, TlsNames.ParseProtocol(name));

    [Theory]
    [InlineData("TLS_AES_256_GCM_SHA384", TlsCipherSuite.TLS_AES_256_GCM_SHA384)]
    [InlineData("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256)]
    [InlineData("ECDHE-RSA-AES256-GCM-SHA384", TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384)]
    [InlineData("ECDHE-ECDSA-CHACHA20-POLY1305", TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256)]
    [InlineData("AES128-SHA", TlsCipherSuite.TLS_RSA_WITH_AES_128_CBC_SHA)]
    public void ParseCipherSuite_Name_IsTheSuite(string name, TlsCipherSuite expected) => Assert.Equal(expected, TlsNames.ParseCipherSuite(name));

    [Theory]
    [InlineData("TLS_", "TLS_OF_TOMORROW", "4865", "RC4-MD5", "", null)]
    public void ParseCipherSuite_UnknownName_IsNull(params string?[] names) => Assert.All(names, static name => Assert.Null(TlsNames.ParseCipherSuite(name)));
}
