using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Text;
using FastCgi.AspNetCore.Cgi;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using Known = Microsoft.Net.Http.Headers.HeaderNames;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The headers of a request. A single one is looked up in the params; all are made into strings when they are enumerated or
/// changed.
/// </summary>
/// <param name="requestLock">The lock of the request.</param>
/// <param name="parameters">Its params.</param>
/// <param name="mapping">What the requests of the server share.</param>
/// <param name="head">What the params say of the request.</param>
internal sealed class RequestHeaders(RequestLock requestLock, RequestParameters parameters, CgiMapping mapping, in RequestHead head)
    : HeaderCollection(requestLock)
{
    private const int MaxSharedHostLength = 128;

    private readonly long _knownContentLength = head.ContentLength ?? UnknownLength;
    private readonly int _hostOffset = head.HostOffset;
    private readonly bool _isHttps = head.IsHttps;
    private readonly bool _isPortUnusual = head.IsPortUnusual;
    private string? _host;
    private volatile bool _isLoaded;

    public override long? ContentLength
    {
        get => _isLoaded ? base.ContentLength : KnownContentLength;
        set => base.ContentLength = value;
    }

    private long? KnownContentLength => _knownContentLength == UnknownLength ? null : _knownContentLength;

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

        // Without the lock, because it may be logged that it lacks its port.
        var host = GetHost();
        using var scope = EnterLock();
        if (_isLoaded)
            return;

        foreach (var (name, value) in parameters.GetHeaders())
        {
            if (!IsHidden(name))
                Append(scope, name, value, name.Equals(Known.Cookie, StringComparison.OrdinalIgnoreCase) ? "; " : null);
        }

        if (KnownContentLength is { } contentLength)
            StoreContentLength(scope, contentLength);
        Supplement(scope, Known.ContentType, parameters.GetHeader(Known.ContentType));
        Supplement(scope, Known.Host, host);
        Supplement(scope, Known.Authorization, GetAuthorization());
        _isLoaded = true;
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

        return IsHidden(name) ? StringValues.Empty : parameters.GetHeader(name);
    }

    private void Supplement(RequestScope scope, string name, StringValues value)
    {
        if (value.Count > 0)
            Store(scope, name, value);
    }

    /// <summary>The body was de-chunked by the front-end; a length beside Transfer-Encoding would look like an attack.</summary>
    private bool IsHidden(string name) => _knownContentLength != UnknownLength && name.Equals(Known.TransferEncoding, StringComparison.OrdinalIgnoreCase);

    /// <summary>HTTP/1.0 clients send no Host, and nginx before 1.29.4 forgets HTTP_HOST over HTTP/3: then it is the server's own name.</summary>
    private StringValues GetHost()
    {
        if (_host is not null)
            return _host;

        var sent = _hostOffset < 0 ? null : parameters.GetHost(_hostOffset);
        if (sent is not { Length: > 0 } host)
            return MakeUpHost() ?? sent;

        if (_isPortUnusual)
            CheckPort(host);
        return _host = WithoutDefaultPort(host);
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
            ? mapping.Strings.GetString(bytes[..length])
            : name.ToString();
    }

    /// <summary>Whether this is a name or an address, and so what follows is its port.</summary>
    private static bool IsName(ReadOnlySpan<char> host) => !host.IsEmpty && (!host.Contains(':') || host[^1] == ']');

    private void CheckPort(string host)
    {
        // What is no name was made up by the client.
        if (host.AsSpan(host.LastIndexOf(']') + 1).Contains(':') || Uri.CheckHostName(host) == UriHostNameType.Unknown)
            return;

        mapping.Misconfigurations?.ReportHostWithoutPort(host, parameters.GetVariable("SERVER_PORT"));
    }

    private string? MakeUpHost()
    {
        var name = parameters.GetVariable("SERVER_NAME");
        if (string.IsNullOrEmpty(name) || Uri.CheckHostName(name) == UriHostNameType.Unknown)
            return null;

        if (name.Contains(':', StringComparison.Ordinal) && name[0] != '[')
            name = $"[{name}]";
        return _isPortUnusual ? $"{name}:{parameters.GetVariable("SERVER_PORT")}" : name;
    }

    private StringValues GetAuthorization()
    {
        var sent = parameters.GetHeader(Known.Authorization);
        return sent.Count > 0 ? sent : parameters.GetRenamedAuthorization();
    }
}
