using System.Diagnostics.CodeAnalysis;
using FastCgi.AspNetCore.Cgi;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using Known = Microsoft.Net.Http.Headers.HeaderNames;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The headers of a request. A single one is looked up in the params; all are made into strings when they are enumerated or
/// changed.
/// </summary>
internal sealed class RequestHeaders : HeaderCollection
{
    private RequestParameters _parameters = null!;
    private CgiMapping _mapping = null!;
    private long _knownContentLength;
    private string? _madeUpHost;
    private bool _isHostMadeUp;
    private bool _hidesTransferEncoding;
    private bool _isLoaded;

    public override long? ContentLength
    {
        get => _isLoaded ? base.ContentLength : KnownContentLength;
        set => base.ContentLength = value;
    }

    private long? KnownContentLength => _knownContentLength == UnknownLength ? null : _knownContentLength;

    /// <summary>Begins with another request.</summary>
    /// <param name="parameters">Its params.</param>
    /// <param name="mapping">How values are decoded.</param>
    /// <param name="contentLength">The length of the body, where it is known.</param>
    public void Begin(RequestParameters parameters, CgiMapping mapping, long? contentLength)
    {
        Reset();
        _parameters = parameters;
        _mapping = mapping;
        _knownContentLength = contentLength ?? UnknownLength;
        // The body was de-chunked by the front-end; a length beside the header would look like an attack.
        _hidesTransferEncoding = contentLength is not null;
        _isLoaded = false;
        _isHostMadeUp = false;
        _madeUpHost = null;
    }

    public override bool TryGetValue(string key, [MaybeNullWhen(false)] out StringValues value)
    {
        if (_isLoaded || string.IsNullOrEmpty(key))
            return base.TryGetValue(key, out value);

        value = Find(key);
        return value.Count > 0;
    }

    protected override void Load()
    {
        if (_isLoaded)
            return;

        _isLoaded = true;
        _parameters.ReadHeaders(_mapping, this, static (headers, name, value) =>
        {
            if (!headers.IsHidden(name))
                headers.Append(name, value, name.Equals(Known.Cookie, StringComparison.OrdinalIgnoreCase) ? "; " : null);
        });

        if (KnownContentLength is { } contentLength)
            SetKnownContentLength(contentLength);

        Supplement(Known.ContentType, _parameters.GetHeader(Known.ContentType, _mapping));
        Supplement(Known.Host, GetHost());
        Supplement(Known.Authorization, GetAuthorization());
    }

    protected override Exception InvalidContentLength(string value) => new BadHttpRequestException($"Invalid content length: {value}");

    private StringValues Find(string name)
    {
        if (name.Equals(Known.ContentLength, StringComparison.OrdinalIgnoreCase))
            return KnownContentLength?.ToString(System.Globalization.CultureInfo.InvariantCulture);

        if (name.Equals(Known.Host, StringComparison.OrdinalIgnoreCase))
            return GetHost();

        if (name.Equals(Known.Authorization, StringComparison.OrdinalIgnoreCase))
            return GetAuthorization();

        return IsHidden(name) ? StringValues.Empty : _parameters.GetHeader(name, _mapping);
    }

    private void Supplement(string name, StringValues value)
    {
        if (value.Count > 0)
            this[name] = value;
    }

    private bool IsHidden(string name) => _hidesTransferEncoding && name.Equals(Known.TransferEncoding, StringComparison.OrdinalIgnoreCase);

    /// <summary>HTTP/1.0 clients send no Host, and nginx before 1.29.4 forgets HTTP_HOST over HTTP/3: then it is the server's own name.</summary>
    private StringValues GetHost()
    {
        var sent = _parameters.GetHeader(Known.Host, _mapping);
        if (sent.Count > 0 && !string.IsNullOrEmpty(sent[^1]))
            return sent[^1];

        if (!_isHostMadeUp)
        {
            _madeUpHost = MakeUpHost();
            _isHostMadeUp = true;
        }

        return _madeUpHost ?? sent;
    }

    private string? MakeUpHost()
    {
        var name = _parameters.GetVariable("SERVER_NAME", _mapping);
        if (string.IsNullOrEmpty(name) || Uri.CheckHostName(name) == UriHostNameType.Unknown)
            return null;

        if (name.Contains(':', StringComparison.Ordinal) && name[0] != '[')
            name = $"[{name}]";
        var port = _parameters.GetVariable("SERVER_PORT", _mapping);
        return port is null or "" or "80" or "443" ? name : $"{name}:{port}";
    }

    private StringValues GetAuthorization()
    {
        var sent = _parameters.GetHeader(Known.Authorization, _mapping);
        return sent.Count > 0 ? sent : _parameters.GetRenamedAuthorization(_mapping);
    }
}
