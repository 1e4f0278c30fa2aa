using System.Net.Security;
using System.Security.Authentication;
using FastCgi.AspNetCore.Cgi;
using Microsoft.AspNetCore.Connections.Features;

namespace FastCgi.AspNetCore.Requests;

/// <summary>What the front-end agreed with its client: SSL_PROTOCOL, SSL_CIPHER and the name that the client asked for. Made when first asked for.</summary>
internal sealed class TlsHandshake(RequestParameters parameters) : ITlsHandshakeFeature
{
    public SslProtocols Protocol { get; } = TlsNames.ParseProtocol(parameters.GetVariable("SSL_PROTOCOL"));

    public TlsCipherSuite? NegotiatedCipherSuite { get; } = TlsNames.ParseCipherSuite(parameters.GetVariable("SSL_CIPHER"));

    /// <summary>mod_ssl's and lighttpd's name for it, or the one that is usual in nginx configurations.</summary>
    public string HostName { get; } = parameters.GetVariable("SSL_TLS_SNI") ?? parameters.GetVariable("SSL_SERVER_NAME") ?? string.Empty;

    // The cipher suite says all of these, which are obsolete.
    [Obsolete(ObsoleteMessage)]
    public CipherAlgorithmType CipherAlgorithm => CipherAlgorithmType.None;

    [Obsolete(ObsoleteMessage)]
    public int CipherStrength => 0;

    [Obsolete(ObsoleteMessage)]
    public HashAlgorithmType HashAlgorithm => HashAlgorithmType.None;

    [Obsolete(ObsoleteMessage)]
    public int HashStrength => 0;

    [Obsolete(ObsoleteMessage)]
    public ExchangeAlgorithmType KeyExchangeAlgorithm => ExchangeAlgorithmType.None;

    [Obsolete(ObsoleteMessage)]
    public int KeyExchangeStrength => 0;

    private const string ObsoleteMessage = $"Use {nameof(NegotiatedCipherSuite)}.";
}
