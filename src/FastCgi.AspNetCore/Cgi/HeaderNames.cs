namespace FastCgi.AspNetCore.Cgi;

/// <summary>Converts between HTTP_* variables and header names (RFC 3875, section 4.1.18).</summary>
internal static class HeaderNames
{
    /// <summary>The variable for Authorization after an internal redirect in Apache.</summary>
    public const string RenamedAuthorization = "REDIRECT_HTTP_AUTHORIZATION";

    private const int MaxKnownLength = 48;

    private static readonly string[] s_uncached =
    [
        Known.Cookie, Known.Authorization, Known.ProxyAuthorization, "X-Forwarded-For", "X-Real-IP",
    ];

    // By variable, to find known names without creating a string. Those without a name are not headers.
    private static readonly Dictionary<string, string>.AlternateLookup<ReadOnlySpan<char>> s_known =
        GetKnown().GetAlternateLookup<ReadOnlySpan<char>>();

    /// <summary>Gets the header of a variable, including CONTENT_TYPE and CONTENT_LENGTH.</summary>
    /// <returns><see langword="false"/> if the variable is not a header: no prefix, ignored, or not a token.</returns>
    public static bool TryGetHeaderName(ReadOnlySpan<byte> variable, [NotNullWhen(true)] out string? header)
    {
        Span<char> name = stackalloc char[MaxKnownLength];
        if (Ascii.ToUtf16(variable, name, out var length) == OperationStatus.Done
            && s_known.TryGetValue(name[..length], out header))
            return header.Length > 0;

        header = null;
        if (variable.Length <= 5 || !variable.StartsWith("HTTP_"u8) || !HttpCharacters.IsToken(variable))
            return false;

        header = string.Create(variable.Length - 5, variable[5..], static (text, bytes) =>
        {
            var isStartOfWord = true;
            for (var i = 0; i < bytes.Length; i++)
            {
                var c = bytes[i] == '_' ? '-' : (char)bytes[i];
                text[i] = isStartOfWord ? char.ToUpperInvariant(c) : char.ToLowerInvariant(c);
                isStartOfWord = c == '-';
            }
        });
        return !IsIgnored(header);
    }

    public static bool IsVariableOf(ReadOnlySpan<byte> variable, string header)
    {
        if (variable.Length != header.Length + 5 || !variable.StartsWith("HTTP_"u8))
            return false;

        var name = variable[5..];
        for (var i = 0; i < header.Length; i++)
        {
            if (!IsSame(name[i], header[i]))
                return false;
        }

        return HttpCharacters.IsToken(variable);
    }

    /// <summary>Whether a variable may contradict CONTENT_*, or is an attack (httpoxy, CVE-2016-5385).</summary>
    public static bool IsIgnored(string header) => header.Length switch
    {
        5 => header.Equals("Proxy", StringComparison.OrdinalIgnoreCase),
        12 => header.Equals(Known.ContentType, StringComparison.OrdinalIgnoreCase),
        14 => header.Equals(Known.ContentLength, StringComparison.OrdinalIgnoreCase),
        _ => false,
    };

    /// <summary>Whether values are secret or rarely repeat: <see cref="StringCache"/> must not keep them.</summary>
    public static bool IsUncached(string header)
        => s_uncached.AsSpan().Contains(header, StringComparer.OrdinalIgnoreCase);

    public static bool IsUncachedVariable(ReadOnlySpan<byte> variable)
    {
        foreach (var name in s_uncached)
        {
            if (IsVariableOf(variable, name))
                return true;
        }

        return Ascii.EqualsIgnoreCase(variable, RenamedAuthorization) || variable.SequenceEqual("REMOTE_ADDR"u8)
            || variable.SequenceEqual("REMOTE_PORT"u8) || variable.SequenceEqual("QUERY_STRING"u8)
            || variable.SequenceEqual("REQUEST_URI"u8);
    }

    private static bool IsSame(byte inVariable, char inHeader)
        => inVariable == '_'
            ? inHeader == '-'
            : inVariable == inHeader || ((inVariable ^ inHeader) == 0x20 && char.IsAsciiLetter(inHeader));

    private static Dictionary<string, string> GetKnown()
    {
        string[] names =
        [
            Known.Accept, Known.AcceptCharset, Known.AcceptEncoding, Known.AcceptLanguage,
            Known.AccessControlRequestHeaders, Known.AccessControlRequestMethod, Known.AltSvc, Known.Authorization,
            Known.Baggage, Known.CacheControl, Known.Connection, Known.ContentDisposition, Known.ContentEncoding,
            Known.ContentLanguage, Known.ContentMD5, Known.ContentRange, Known.Cookie, Known.CorrelationContext,
            Known.Date, Known.DNT, Known.ETag, Known.Expect, Known.Expires, Known.From, Known.GrpcAcceptEncoding,
            Known.GrpcEncoding, Known.GrpcTimeout, Known.Host, Known.IfMatch, Known.IfModifiedSince, Known.IfNoneMatch,
            Known.IfRange, Known.IfUnmodifiedSince, Known.KeepAlive, Known.LastModified, Known.Link, Known.MaxForwards,
            Known.Origin, Known.Pragma, Known.ProxyAuthorization, Known.ProxyConnection, Known.Range, Known.Referer,
            Known.RequestId, Known.SecWebSocketExtensions, Known.SecWebSocketKey, Known.SecWebSocketProtocol,
            Known.SecWebSocketVersion, Known.TE, Known.TraceParent, Known.TraceState, Known.Trailer,
            Known.TransferEncoding, Known.Translate, Known.Upgrade, Known.UpgradeInsecureRequests, Known.UserAgent,
            Known.Via, Known.Warning, Known.XRequestedWith, Known.XUACompatible, "X-Forwarded-For", "X-Forwarded-Host",
            "X-Forwarded-Proto", "X-Forwarded-Prefix", "X-Real-IP", "X-Request-ID", "X-CSRF-Token",
            "X-HTTP-Method-Override", "Forwarded", "Priority", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site",
            "Sec-Fetch-User", "Sec-CH-UA", "Sec-CH-UA-Mobile", "Sec-CH-UA-Platform", "Sec-GPC", "Save-Data",
            "Last-Event-ID", "Accept-Datetime",
        ];

        var known = new Dictionary<string, string>
        {
            ["CONTENT_TYPE"] = Known.ContentType,
            ["CONTENT_LENGTH"] = Known.ContentLength,
            ["HTTP_CONTENT_TYPE"] = string.Empty,
            ["HTTP_CONTENT_LENGTH"] = string.Empty,
            ["HTTP_PROXY"] = string.Empty,
        };
        foreach (var name in names)
            known.Add("HTTP_" + name.ToUpperInvariant().Replace('-', '_'), name);
        return known;
    }
}
