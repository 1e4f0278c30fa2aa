using FastCgi.AspNetCore.Cgi;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace FastCgi.AspNetCore.Requests;

/// <content>What came with the request, as its features show it. Middleware may set most of it; the server keeps what it needs apart.</content>
internal abstract partial class FastCgiRequest :
    IHttpRequestFeature,
    IHttpRequestIdentifierFeature,
    IHttpConnectionFeature,
    IServerVariablesFeature,
    IBadRequestExceptionFeature
{
    private IHeaderDictionary? _replacedHeaders;
    private RequestAddresses? _addresses;
    private TlsConnection? _tlsConnection;
    private TlsHandshake? _tlsHandshake;
    private Dictionary<string, string?>? _setVariables;
    private string? _rawTarget;
    private string? _traceIdentifier;
    private string? _connectionId;
    private string _scheme = Uri.UriSchemeHttp;
    private uint _sequence;

    string IHttpRequestFeature.Protocol
    {
        get => Head.Protocol;
        set => Head.Protocol = value;
    }

    string IHttpRequestFeature.Scheme
    {
        get => _scheme;
        set
        {
            ThrowIfOver();
            _scheme = value;
        }
    }

    string IHttpRequestFeature.Method
    {
        get => Head.Method;
        set => Head.Method = value;
    }

    string IHttpRequestFeature.PathBase
    {
        get => Head.PathBase;
        set => Head.PathBase = value;
    }

    string IHttpRequestFeature.Path
    {
        get => Head.Path;
        set => Head.Path = value;
    }

    string IHttpRequestFeature.QueryString
    {
        get => Head.QueryString;
        set => Head.QueryString = value;
    }

    string IHttpRequestFeature.RawTarget
    {
        get => _rawTarget ??= Parameters.GetRawTarget(Server.Mapping);
        set
        {
            ThrowIfOver();
            _rawTarget = value;
        }
    }

    IHeaderDictionary IHttpRequestFeature.Headers
    {
        get => _replacedHeaders ?? _headers;
        set
        {
            ThrowIfOver();
            _replacedHeaders = value;
        }
    }

    string IHttpRequestIdentifierFeature.TraceIdentifier
    {
        get => TraceIdentifier;
        set
        {
            ThrowIfOver();
            _traceIdentifier = value;
        }
    }

    string IHttpConnectionFeature.ConnectionId
    {
        get => _connectionId ?? Connection.Id;
        set
        {
            ThrowIfOver();
            _connectionId = value;
        }
    }

    System.Net.IPAddress? IHttpConnectionFeature.RemoteIpAddress
    {
        get => Addresses.RemoteAddress;
        set => Addresses.RemoteAddress = value;
    }

    System.Net.IPAddress? IHttpConnectionFeature.LocalIpAddress
    {
        get => Addresses.LocalAddress;
        set => Addresses.LocalAddress = value;
    }

    int IHttpConnectionFeature.RemotePort
    {
        get => Addresses.RemotePort;
        set => Addresses.RemotePort = value;
    }

    int IHttpConnectionFeature.LocalPort
    {
        get => Addresses.LocalPort;
        set => Addresses.LocalPort = value;
    }

    Exception? IBadRequestExceptionFeature.Error => _badRequest;

    /// <summary>The request's name in logs.</summary>
    protected string TraceIdentifier => _traceIdentifier ??= GetFrontEndIdentifier() ?? $"{Connection.Id}:{_sequence:X8}";

    /// <summary>Absent when the client does not talk TLS to the front-end.</summary>
    private TlsConnection? TlsConnection
        => _head.IsHttps ? _tlsConnection ??= new TlsConnection(Parameters, Server.Mapping, Server.Options.AllowAnyClientCertificate, Server.Log) : null;

    private TlsHandshake? TlsHandshake
        => _head.IsHttps ? _tlsHandshake ??= new TlsHandshake(Parameters, Server.Mapping) : null;

    private RequestAddresses Addresses
    {
        get
        {
            ThrowIfOver();
            return _addresses ??= new RequestAddresses(Parameters, Server.Mapping);
        }
    }

    /// <summary>The request line, as middleware has left it.</summary>
    private ref RequestHead Head
    {
        get
        {
            ThrowIfOver();
            return ref _head;
        }
    }

    string? IServerVariablesFeature.this[string variableName]
    {
        get
        {
            ArgumentException.ThrowIfNullOrEmpty(variableName);
            if (_setVariables is not null && _setVariables.TryGetValue(variableName, out var set))
                return set;

            return Parameters.GetVariable(variableName, Server.Mapping);
        }

        set
        {
            ArgumentException.ThrowIfNullOrEmpty(variableName);
            ThrowIfOver();
            (_setVariables ??= new(StringComparer.OrdinalIgnoreCase))[variableName] = value;
        }
    }

    /// <summary>The id that the front-end has given the request, if it is asked for and fit for logs.</summary>
    private string? GetFrontEndIdentifier()
    {
        if (string.IsNullOrEmpty(Server.Options.TraceIdentifierParameter))
            return null;

        var identifier = Parameters.GetVariable(Server.Options.TraceIdentifierParameter, Server.Mapping);
        return HttpCharacters.IsTraceIdentifier(identifier) ? identifier : null;
    }

    private void BeginRequestLine() => _scheme = _head.IsHttps ? Uri.UriSchemeHttps : Uri.UriSchemeHttp;

    private void EndRequestLine()
    {
        _head = default;
        _replacedHeaders = null;
        _addresses = null;
        _tlsConnection = null;
        _tlsHandshake = null;
        _setVariables = null;
        _parameterList = null;
        _rawTarget = null;
        _traceIdentifier = null;
        _connectionId = null;
    }
}
