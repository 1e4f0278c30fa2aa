namespace FastCgi.AspNetCore.Cgi;

/// <summary>
/// The meta-variables of the request line (RFC 3875, section 4.1), found in one pass. Empty means absent, as nginx and
/// Caddy send it. The last of repeated variables applies, as when nginx overrides an included file.
/// </summary>
internal ref struct RequestVariables
{
    private const int HostVariableLength = 9;

    public ReadOnlySpan<byte> Method;
    public ReadOnlySpan<byte> RequestUri;
    public ReadOnlySpan<byte> QueryString;
    public ReadOnlySpan<byte> ScriptName;
    public ReadOnlySpan<byte> PathInfo;
    public ReadOnlySpan<byte> DocumentUri;
    public ReadOnlySpan<byte> PathBase;
    public ReadOnlySpan<byte> Protocol;
    public ReadOnlySpan<byte> Https;
    public ReadOnlySpan<byte> Scheme;
    public ReadOnlySpan<byte> ContentLength;
    public ReadOnlySpan<byte> ServerPort;
    public ReadOnlySpan<byte> Host;

    /// <summary>Whether PATH_INFO was sent, even if empty: the web server splits the path.</summary>
    public bool HasPathInfo;

    /// <summary>The offset of the last Host header, which nearly every request reads; negative if absent.</summary>
    public int HostOffset;

    public static RequestRejection Read(ReadOnlySpan<byte> stream, CgiMapping mapping, out RequestVariables variables)
    {
        variables = new RequestVariables { HostOffset = -1 };
        var reader = new NameValuePairReader(stream);
        var count = 0;
        var maxCount = mapping.Options.Limits.MaxRequestParameterCount;
        for (var offset = 0; reader.TryRead(out var name, out var value); offset = reader.Offset)
        {
            if (++count > maxCount)
                return RequestRejection.TooManyParameters;

            if (name.Length == HostVariableLength && HeaderNames.IsVariableOf(name, Known.Host))
            {
                variables.HostOffset = offset;
                variables.Host = value;
            }

            var rejection = variables.Take(name, value, mapping);
            if (rejection != RequestRejection.None)
                return rejection;
        }

        return reader.IsMalformed ? RequestRejection.MalformedParameters : RequestRejection.None;
    }

    private RequestRejection Take(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, CgiMapping mapping)
    {
        if (name.StartsWith("HTTP_"u8) || name.SequenceEqual("CONTENT_TYPE"u8))
        {
            return HttpCharacters.IsSuspect(value) && !mapping.CanDecodeHeader(value)
                ? RequestRejection.InvalidHeaderValue
                : RequestRejection.None;
        }

        switch (name.Length)
        {
            case 5 when name.SequenceEqual("HTTPS"u8):
                Https = value;
                break;
            case 9 when name.SequenceEqual("PATH_INFO"u8):
                PathInfo = value;
                HasPathInfo = true;
                break;
            case 9 when name.SequenceEqual("PATH_BASE"u8):
                PathBase = value;
                break;
            case 11 when name.SequenceEqual("REQUEST_URI"u8):
                RequestUri = value;
                break;
            case 11 when name.SequenceEqual("SCRIPT_NAME"u8):
                ScriptName = value;
                break;
            case 11 when name.SequenceEqual("SERVER_PORT"u8):
                ServerPort = value;
                break;
            case 12 when name.SequenceEqual("QUERY_STRING"u8):
                QueryString = value;
                break;
            case 12 when name.SequenceEqual("DOCUMENT_URI"u8):
                DocumentUri = value;
                break;
            case 14 when name.SequenceEqual("REQUEST_METHOD"u8):
                Method = value;
                break;
            case 14 when name.SequenceEqual("REQUEST_SCHEME"u8):
                Scheme = value;
                break;
            case 14 when name.SequenceEqual("CONTENT_LENGTH"u8):
                // Cleared after fastcgi_params, as for nginx's auth_request, it is absent; two lengths are an attack.
                if (!ContentLength.IsEmpty && !value.IsEmpty && !ContentLength.SequenceEqual(value))
                    return RequestRejection.InvalidContentLength;
                ContentLength = value;
                break;
            case 15 when name.SequenceEqual("SERVER_PROTOCOL"u8):
                Protocol = value;
                break;
        }

        return RequestRejection.None;
    }
}
