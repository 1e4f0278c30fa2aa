using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Text;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using Known = Microsoft.Net.Http.Headers.HeaderNames;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The headers of a request. A single one is looked up in the params; all are made into strings when they are enumerated or
/// changed.
/// </summary>
/// <param name="requestLock">The lock of the request.</param>
internal sealed class RequestHeaders(ResponseLock requestLock) : HeaderCollection(requestLock)
{
    private const int MaxSharedHostLength = 128;

    private RequestParameters _parameters = null!;
    private CgiMapping _mapping = null!;
    private long _knownContentLength;
    private bool _hidesTransferEncoding;
    private bool _isHttps;
    private bool _isPortUnusual;
    private bool _isPortToBeChecked;
    private volatile bool _isLoaded;
    private volatile bool _isOver = true;
    private volatile int _generation;

    public override long? ContentLength
    {
        get => _isLoaded ? base.ContentLength : KnownContentLength;
        set => base.ContentLength = value;
    }

    protected override bool IsLoaded => _isLoaded;

    private long? KnownContentLength => _knownContentLength == UnknownLength ? null : _knownContentLength;

    /// <summary>Begins with another request. Without the lock: nobody can have changed what <see cref="End"/> has left.</summary>
    /// <param name="parameters">Its params.</param>
    /// <param name="mapping">How values are decoded.</param>
    /// <param name="head">What they say of it.</param>
    public void Begin(RequestParameters parameters, CgiMapping mapping, in RequestHead head)
    {
        _parameters = parameters;
        _mapping = mapping;
        _knownContentLength = head.ContentLength ?? UnknownLength;
        // The body was de-chunked by the front-end; a length beside the header would look like an attack.
        _hidesTransferEncoding = head.ContentLength is not null;
        _isHttps = head.IsHttps;
        _isPortUnusual = head.IsPortUnusual;
        _isPortToBeChecked = head.IsPortUnusual;
        _isOver = false;
    }

    /// <summary>Ends with the request: what still refers to the collection gets an <see cref="ObjectDisposedException"/>. With the lock held.</summary>
    public void End()
    {
        _isOver = true;
        _generation++;
        _isLoaded = false;
        Reset();
    }

    public override bool TryGetValue(string key, [MaybeNullWhen(false)] out StringValues value)
    {
        if (_isLoaded || string.IsNullOrEmpty(key))
            return base.TryGetValue(key, out value);

        value = LookUp(key);
        return value.Count > 0;
    }

    protected override void Load()
    {
        if (_isLoaded)
            return;

        // Without the lock, because it may be logged that it lacks its port. The collection may serve another request when that is done.
        var generation = _generation;
        var host = GetHost();
        using (EnterLock())
        {
            ObjectDisposedException.ThrowIf(_isOver || generation != _generation, typeof(HttpRequest));
            if (_isLoaded)
                return;

            Reset();
            _parameters.ReadHeaders(_mapping, this, static (headers, name, value) =>
            {
                if (!headers.IsHidden(name))
                    headers.Append(name, value, name.Equals(Known.Cookie, StringComparison.OrdinalIgnoreCase) ? "; " : null);
            });
            if (KnownContentLength is { } contentLength)
                StoreContentLength(contentLength);

            Supplement(Known.ContentType, _parameters.GetHeader(Known.ContentType, _mapping));
            Supplement(Known.Host, host);
            Supplement(Known.Authorization, GetAuthorization());
            _isLoaded = true;
        }
    }

    protected override Exception InvalidContentLength(string value) => new BadHttpRequestException($"Invalid content length: {value}");

    private StringValues LookUp(string name)
    {
        if (name.Equals(Known.ContentLength, StringComparison.OrdinalIgnoreCase))
            return KnownContentLength?.ToString(CultureInfo.InvariantCulture);

        if (name.Equals(Known.Host, StringComparison.OrdinalIgnoreCase))
            return GetHost();

        if (name.Equals(Known.Authorization, StringComparison.OrdinalIgnoreCase))
            return GetAuthorization();

        return IsHidden(name) ? StringValues.Empty : _parameters.GetHeader(name, _mapping);
    }

    private void Supplement(string name, StringValues value)
    {
        if (value.Count > 0)
            Store(name, value);
    }

    private bool IsHidden(string name) => _hidesTransferEncoding && name.Equals(Known.TransferEncoding, StringComparison.OrdinalIgnoreCase);

    /// <summary>HTTP/1.0 clients send no Host, and nginx before 1.29.4 forgets HTTP_HOST over HTTP/3: then it is the server's own name.</summary>
    private StringValues GetHost()
    {
        var sent = _parameters.GetHost(_mapping);
        if (sent is { Length: > 0 } host)
        {
            if (_isPortToBeChecked)
                CheckPort(host);
            return WithoutDefaultPort(host);
        }

        // Not kept: a thread that comes late would leave it to the next request.
        return MakeUpHost() ?? sent;
    }

    /// <summary>
    /// Without the port that the scheme has anyway, which configurations that name the port add: else it would stand in each absolute
    /// redirect, and a redirect URI with it is not the one that was registered.
    /// </summary>
    private string WithoutDefaultPort(string host)
    {
        var port = _isHttps ? ":443" : ":80";
        if (!host.EndsWith(port, StringComparison.Ordinal) || !IsName(host.AsSpan(0, host.Length - port.Length)))
            return host;

        // Its strings are shared, as those of all headers.
        var name = host.AsSpan(0, host.Length - port.Length);
        Span<byte> bytes = stackalloc byte[MaxSharedHostLength];
        return name.Length <= bytes.Length && Ascii.FromUtf16(name, bytes, out var length) == OperationStatus.Done
            ? _mapping.Strings.GetString(bytes[..length])
            : name.ToString();
    }

    /// <summary>Whether this is a name or an address, and so what follows is its port.</summary>
    private static bool IsName(ReadOnlySpan<char> host) => !host.IsEmpty && (!host.Contains(':') || host[^1] == ']');

    private void CheckPort(string host)
    {
        // What is no name was made up by the client.
        if (host.AsSpan(host.LastIndexOf(']') + 1).Contains(':') || Uri.CheckHostName(host) == UriHostNameType.Unknown)
            return;

        // Once for a request.
        _isPortToBeChecked = false;
        _mapping.Misconfigurations?.ReportHostWithoutPort(host, _parameters.GetVariable("SERVER_PORT", _mapping));
    }

    private string? MakeUpHost()
    {
        var name = _parameters.GetVariable("SERVER_NAME", _mapping);
        if (string.IsNullOrEmpty(name) || Uri.CheckHostName(name) == UriHostNameType.Unknown)
            return null;

        if (name.Contains(':', StringComparison.Ordinal) && name[0] != '[')
            name = $"[{name}]";
        return _isPortUnusual ? $"{name}:{_parameters.GetVariable("SERVER_PORT", _mapping)}" : name;
    }

    private StringValues GetAuthorization()
    {
        var sent = _parameters.GetHeader(Known.Authorization, _mapping);
        return sent.Count > 0 ? sent : _parameters.GetRenamedAuthorization(_mapping);
    }
}
