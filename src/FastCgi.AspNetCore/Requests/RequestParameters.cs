using System.Security.Cryptography.X509Certificates;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The parameters of a request. Immutable, so any thread may read them. Strings on demand.</summary>
internal sealed class RequestParameters(CgiMapping mapping, byte[] bytes)
{
    // "FAILED:" and the reason of the TLS library.
    private const int MaxVerdictLength = 200;

    private Dictionary<int, string>? _decoded;

    public int Length => bytes.Length;
    public ReadOnlySpan<byte> Span => bytes;

    /// <summary>The name and version of the web server; null if it does not pass them.</summary>
    public string? Software => GetVariable("SERVER_SOFTWARE");

    /// <summary>Decodes non-ASCII headers with the application's encodings, before it is called.</summary>
    public RequestRejection DecodeByApplication()
    {
        Invariants.RequireNoLock(nameof(FastCgiServerOptions.RequestHeaderEncodingSelector));
        return mapping.DecodeByApplication(Span, out _decoded);
    }

    /// <summary>Gets the last variable with a name, which is case-insensitive as on IIS.</summary>
    public string? GetVariable(string name)
    {
        var reader = new NameValuePairReader(Span);
        ReadOnlySpan<byte> found = default;
        ReadOnlySpan<byte> foundName = default;
        while (reader.TryRead(out var variable, out var value))
        {
            if (variable.Length == name.Length && Ascii.EqualsIgnoreCase(variable, name))
            {
                foundName = variable;
                found = value;
            }
        }

        return foundName.IsEmpty ? null : mapping.DecodeVariable(foundName, found);
    }

    public string GetRawTarget() => CgiRequestMapper.GetRawTarget(Span, mapping);

    public List<KeyValuePair<string, string>> GetVariables()
    {
        var variables = new List<KeyValuePair<string, string>>();
        var reader = new NameValuePairReader(Span);
        while (reader.TryRead(out var name, out var value))
            variables.Add(new(mapping.DecodeVariable(name), mapping.DecodeVariable(name, value)));
        return variables;
    }

    public StringValues GetHeader(string name)
    {
        var isContentType = name.Equals(Known.ContentType, StringComparison.OrdinalIgnoreCase);
        if (!isContentType && HeaderNames.IsIgnored(name))
            return StringValues.Empty;

        var values = StringValues.Empty;
        var reader = new NameValuePairReader(Span);
        for (var offset = 0; reader.TryRead(out var variable, out var value); offset = reader.Offset)
        {
            if (isContentType && variable.SequenceEqual("CONTENT_TYPE"u8) && !value.IsEmpty)
                values = Decode(offset, name, value);
            else if (!isContentType && HeaderNames.IsVariableOf(variable, name))
                values = Join(values, name, Decode(offset, name, value));
        }

        return values;
    }

    public string GetHost(int offset)
    {
        new NameValuePairReader(Span[offset..]).TryRead(out _, out var value);
        return Decode(offset, Known.Host, value);
    }

    /// <summary>All headers in order, including repeated ones, but not Content-Length and Content-Type.</summary>
    public List<KeyValuePair<string, string>> GetHeaders()
    {
        var headers = new List<KeyValuePair<string, string>>();
        var reader = new NameValuePairReader(Span);
        for (var offset = 0; reader.TryRead(out var variable, out var value); offset = reader.Offset)
        {
            if (HeaderNames.TryGetHeaderName(variable, out var name) && !HeaderNames.IsIgnored(name))
                headers.Add(new(name, Decode(offset, name, value)));
        }

        return headers;
    }

    /// <summary>Adds a header; repeated variables repeat it. Cookies are joined (RFC 9113, section 8.2.3).</summary>
    public static StringValues Join(StringValues values, string name, string value)
    {
        if (values.Count == 0)
            return value;

        return name.Equals(Known.Cookie, StringComparison.OrdinalIgnoreCase)
            ? string.Concat(values.ToString(), "; ", value)
            : StringValues.Concat(values, value);
    }

    /// <summary>The certificate with which the client identified itself to the web server.</summary>
    public X509Certificate2? GetClientCertificate(FastCgiServerOptions options, ILogger log)
    {
        foreach (var variable in CertificateText.Variables)
        {
            // nginx, Apache and Caddy send an empty value if there is no certificate.
            var text = GetVariable(variable);
            if (string.IsNullOrEmpty(text))
                continue;

            var verdict = GetVariable("SSL_CLIENT_VERIFY");
            if (!options.AllowUnverifiedClientCertificate && !CertificateText.IsVerified(verdict))
            {
                log.ClientCertificateNotVerified(verdict is null ? null : LogText.Clean(verdict, MaxVerdictLength));
                return null;
            }

            if (CertificateText.Parse(text) is { } certificate)
                return certificate;

            log.ClientCertificateUnreadable(variable);
        }

        return null;
    }

    private string Decode(int offset, string name, ReadOnlySpan<byte> value)
        => _decoded is not null && _decoded.TryGetValue(offset, out var text)
            ? text
            : mapping.DecodeHeader(name, value);
}
