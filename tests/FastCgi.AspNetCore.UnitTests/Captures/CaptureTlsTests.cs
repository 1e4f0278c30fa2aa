using System.Security.Authentication;
using FastCgi.AspNetCore.UnitTests.Requests;

namespace FastCgi.AspNetCore.UnitTests.Captures;

/// <summary>The client certificates and handshakes of real front-ends, each in its own spelling.</summary>
public sealed class CaptureTlsTests
{
    [Theory]
    [InlineData("nginx", "www.example.test")]
    [InlineData("apache", "www.example.test")]
    [InlineData("fcgid", "www.example.test")]
    [InlineData("lighttpd", "")]
    [InlineData("haproxy", "")]
    public void Replay_RequestOverTls_CertificateAndHandshakeAreTheClients(string frontEnd, string hostName)
    {
        var certificates = 0;
        foreach (var received in CaptureLibrary.All.Where(capture => capture.FrontEnd == frontEnd && capture.IsTls).SelectMany(Read))
        {
            var parameters = RequestHeadersBuilder.Read(received.Parameters);
            if (parameters.GetVariable("SSL_PROTOCOL") is null)
                continue;

            var handshake = new TlsHandshake(parameters);
            Assert.Contains(handshake.Protocol, new[] { SslProtocols.Tls12, SslProtocols.Tls13 });
            Assert.NotNull(handshake.NegotiatedCipherSuite);
            Assert.Equal(hostName, handshake.HostName);

            using var certificate = new TlsConnection(parameters, allowsAny: false, NullLogger.Instance).ClientCertificate;
            var hasOne = !string.IsNullOrEmpty(parameters.GetVariable("SSL_CLIENT_S_DN"));
            Assert.Equal(hasOne, certificate?.Subject.Contains("CN=Jane Client", StringComparison.Ordinal) ?? false);
            certificates += hasOne ? 1 : 0;
        }

        Assert.True(certificates > 0, "No capture has a certificate.");
    }

    private static IReadOnlyList<ReceivedRequest> Read(Capture capture) => ReceivedRequest.ReadAll(capture.ReadBytes());
}
