namespace FastCgi.AspNetCore.Requests;

/// <summary>The headers of a request. A few look-ups search the parameters; after that, all become strings.</summary>
internal sealed class RequestHeaders(FastCgiRequest request) : HeaderCollection
{
    // Hosting and routing look up two. Ten look-ups in the parameters take as long as converting all.
    private const int MaxLookUps = 4;

    // Headers that are not, or may not be, among the variables HTTP_*.
    private static readonly string[] s_special = [Known.ContentType, Known.Host, Known.Authorization];

    private string? _host;

    // Inexact if threads race, which costs only a search.
    private int _lookUps;
    private volatile bool _isLoaded;

    /// <summary>Whether the application has set the host.</summary>
    public bool HasNewHost { get; private set; }

    public override long? ContentLength
    {
        get => _isLoaded ? base.ContentLength : request.Head.ContentLength;
        set => base.ContentLength = value;
    }

    public override bool TryGetValue(string key, [MaybeNullWhen(false)] out StringValues value)
    {
        if (_isLoaded || string.IsNullOrEmpty(key) || ++_lookUps > MaxLookUps)
            return base.TryGetValue(key, out value);

        value = LookUp(key);
        return value.Count > 0;
    }

    protected override void Load()
    {
        if (_isLoaded)
            return;

        var table = new HeaderTable();
        foreach (var (name, value) in request.Parameters.GetHeaders())
        {
            if (!IsHidden(name))
                table.Set(name, RequestParameters.Join(table.Get(name), name, value));
        }

        if (request.Head.ContentLength is { } contentLength)
            table.SetContentLength(contentLength);
        foreach (var name in s_special)
        {
            if (LookUp(name) is { Count: > 0 } value)
                table.Set(name, value);
        }

        // Threads that only read may load at the same time: the first wins.
        using var scope = request.Connection.EnterLock();
        if (_isLoaded)
            return;

        Table = table;
        _isLoaded = true;
    }

    protected override void Validate(string name, StringValues value)
        => HasNewHost |= name.Equals(Known.Host, StringComparison.OrdinalIgnoreCase);

    protected override Exception InvalidContentLength(string value)
        => new BadHttpRequestException($"Invalid content length: {value}");

    private StringValues LookUp(string name)
    {
        if (name.Equals(Known.ContentLength, StringComparison.OrdinalIgnoreCase))
            return request.Head.ContentLength?.ToString(CultureInfo.InvariantCulture);
        if (name.Equals(Known.Host, StringComparison.OrdinalIgnoreCase))
            return GetHost();
        if (IsHidden(name))
            return StringValues.Empty;

        var sent = request.Parameters.GetHeader(name);
        return sent.Count == 0 && name.Equals(Known.Authorization, StringComparison.OrdinalIgnoreCase)
            ? request.Parameters.GetVariable(HeaderNames.RenamedAuthorization)
            : sent;
    }

    /// <summary>The web server decodes chunked bodies: with a length, Transfer-Encoding resembles an attack.</summary>
    private bool IsHidden(string name)
        => request.HasDeclaredLength
            && name.Equals(Known.TransferEncoding, StringComparison.OrdinalIgnoreCase);

    /// <summary>Falls back to the server's name: for HTTP/1.0 and HTTP/3 behind nginx before 1.29.5.</summary>
    public StringValues GetHost()
    {
        if (_host is not null)
            return _host;

        var sent = request.GetHostAsSent();
        if (sent is not { Length: > 0 } host)
            return CreateHost() ?? sent;

        return _host = WithoutDefaultPort(host);
    }

    /// <summary>Redirects would show a default port, and registered redirect URIs would not match.</summary>
    private string WithoutDefaultPort(string host)
    {
        var port = request.Head.IsHttps ? ":443" : ":80";
        return host.EndsWith(port, StringComparison.Ordinal) && IsName(host.AsSpan(0, host.Length - port.Length))
            ? host[..^port.Length]
            : host;
    }

    /// <summary>Whether the text is a complete name or address, so that a port may follow.</summary>
    private static bool IsName(ReadOnlySpan<char> host) => !host.IsEmpty && (!host.Contains(':') || host[^1] == ']');

    private string? CreateHost()
    {
        var name = request.Parameters.GetVariable("SERVER_NAME");
        if (string.IsNullOrEmpty(name) || Uri.CheckHostName(name) == UriHostNameType.Unknown)
            return null;

        if (name.Contains(':', StringComparison.Ordinal) && name[0] != '[')
            name = $"[{name}]";
        if (!HttpCharacters.IsHost(Encoding.UTF8.GetBytes(name)))
            return null;

        return request.Head.IsPortUnusual ? $"{name}:{request.Parameters.GetVariable("SERVER_PORT")}" : name;
    }
}
