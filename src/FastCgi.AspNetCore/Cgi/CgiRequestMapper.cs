using System.Buffers.Text;
using System.Text.Unicode;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>Maps parameters (RFC 3875). Scheme, path and addresses never come from forgeable headers.</summary>
internal static class CgiRequestMapper
{
    private const int MaxPathOnStack = 512;

    public static RequestRejection Map(ReadOnlySpan<byte> parameters, CgiMapping mapping, out RequestHead head)
    {
        head = default;
        var rejection = RequestVariables.Read(parameters, mapping, out var variables);
        if (rejection != RequestRejection.None)
            return rejection;

        if (variables.Method.IsEmpty)
            return RequestRejection.MissingMethod;

        head.Method = MapMethod(variables.Method, mapping);
        if (head.Method.Length == 0)
            return RequestRejection.InvalidMethod;

        // Otherwise, evil.example?.example.com would satisfy AllowedHosts=*.example.com, and links lead elsewhere.
        if (!HttpCharacters.IsHost(variables.Host))
            return RequestRejection.InvalidHost;

        head.Protocol = MapProtocol(variables.Protocol, mapping);
        head.IsHttps = IsHttps(variables.Https, variables.Scheme);
        head.HostOffset = variables.HostOffset;
        head.IsPortUnusual = IsUnusualPort(variables.ServerPort);
        head.HasHostWithoutPort = head.IsPortUnusual && !variables.Host.IsEmpty
            && !variables.Host[(variables.Host.LastIndexOf((byte)']') + 1)..].Contains((byte)':');
        if (!TryMapContentLength(variables.ContentLength, out var contentLength))
            return RequestRejection.InvalidContentLength;

        head.ContentLength = contentLength;
        return MapTarget(ref variables, mapping, ref head);
    }

    /// <summary>The request target that the web server received, or one created from path and query.</summary>
    public static string GetRawTarget(ReadOnlySpan<byte> parameters, CgiMapping mapping)
    {
        if (RequestVariables.Read(parameters, mapping, out var variables) != RequestRejection.None)
            return string.Empty;

        if (variables.RequestUri.IsEmpty)
        {
            var decoded = mapping.DecodeVariable(variables.ScriptName) + mapping.DecodeVariable(variables.PathInfo);
            return new PathString(decoded.StartsWith('/') ? decoded : "/" + decoded).ToUriComponent()
                + MapQuery(variables.QueryString);
        }

        var target = variables.RequestUri;
        if (ParseTarget(ref target, variables.Method, out var path, out var query) != RequestRejection.None)
            return string.Empty;

        // For http://host?query, only the query remains.
        var raw = query.IsEmpty ? mapping.Strings.GetString(target) : Encoding.ASCII.GetString(target);
        return raw.StartsWith('?') && !path.IsEmpty ? "/" + raw : raw;
    }

    /// <summary>Gets the method, which is case-sensitive (RFC 9110, section 9.1): <c>get</c> is not GET.</summary>
    private static string MapMethod(ReadOnlySpan<byte> method, CgiMapping mapping) => method.Length switch
    {
        3 when method.SequenceEqual("GET"u8) => HttpMethods.Get,
        3 when method.SequenceEqual("PUT"u8) => HttpMethods.Put,
        4 when method.SequenceEqual("POST"u8) => HttpMethods.Post,
        4 when method.SequenceEqual("HEAD"u8) => HttpMethods.Head,
        5 when method.SequenceEqual("PATCH"u8) => HttpMethods.Patch,
        5 when method.SequenceEqual("TRACE"u8) => HttpMethods.Trace,
        5 when method.SequenceEqual("QUERY"u8) => HttpMethods.Query,
        6 when method.SequenceEqual("DELETE"u8) => HttpMethods.Delete,
        7 when method.SequenceEqual("OPTIONS"u8) => HttpMethods.Options,
        7 when method.SequenceEqual("CONNECT"u8) => HttpMethods.Connect,
        _ => HttpCharacters.IsToken(method) ? mapping.Strings.GetString(method) : string.Empty,
    };

    /// <summary>Web servers send HTTP/2.0 and HTTP/3.0; ASP.NET Core has no minor version.</summary>
    private static string MapProtocol(ReadOnlySpan<byte> protocol, CgiMapping mapping)
    {
        if (protocol.SequenceEqual("HTTP/1.1"u8) || protocol.IsEmpty)
            return HttpProtocol.Http11;
        if (protocol.SequenceEqual("HTTP/2.0"u8) || protocol.SequenceEqual("HTTP/2"u8))
            return HttpProtocol.Http2;
        if (protocol.SequenceEqual("HTTP/1.0"u8))
            return HttpProtocol.Http10;
        if (protocol.SequenceEqual("HTTP/3.0"u8) || protocol.SequenceEqual("HTTP/3"u8))
            return HttpProtocol.Http3;
        return mapping.DecodeVariable(protocol);
    }

    private static bool IsUnusualPort(ReadOnlySpan<byte> text)
        => Utf8Parser.TryParse(text, out ushort port, out var length) && length == text.Length
            && port is not (0 or 80 or 443);

    private static bool IsHttps(ReadOnlySpan<byte> https, ReadOnlySpan<byte> scheme)
        => https.SequenceEqual("1"u8)
            || Ascii.EqualsIgnoreCase(https, "on"u8)
            || Ascii.EqualsIgnoreCase(https, "https"u8)
            || Ascii.EqualsIgnoreCase(scheme, "https"u8);

    /// <summary>Accepts only digits. Empty means absent, as does Caddy's <c>-1</c> for an unknown length.</summary>
    private static bool TryMapContentLength(ReadOnlySpan<byte> text, out long? contentLength)
    {
        contentLength = null;
        if (text.IsEmpty || text.SequenceEqual("-1"u8))
            return true;

        if (text.ContainsAnyExceptInRange((byte)'0', (byte)'9') || !Utf8Parser.TryParse(text, out long value, out _))
            return false;

        contentLength = value;
        return true;
    }

    private static RequestRejection MapTarget(ref RequestVariables variables, CgiMapping mapping, ref RequestHead head)
    {
        var source = mapping.Options.PathSource;
        if (source == FastCgiPathSource.DocumentUri && !variables.DocumentUri.IsEmpty)
        {
            head.QueryString = MapQuery(variables.QueryString);
            return MapDecodedPath(variables.DocumentUri, default, ref variables, mapping, ref head);
        }

        if (source == FastCgiPathSource.ScriptNameAndPathInfo || variables.RequestUri.IsEmpty)
        {
            head.QueryString = MapQuery(variables.QueryString);
            head.LacksTarget = variables.RequestUri.IsEmpty && variables.ScriptName.IsEmpty
                && variables.PathInfo.IsEmpty;
            return MapDecodedPath(variables.ScriptName, variables.PathInfo, ref variables, mapping, ref head);
        }

        var target = variables.RequestUri;
        var rejection = ParseTarget(ref target, variables.Method, out var path, out var query);
        if (rejection != RequestRejection.None)
            return rejection;

        // A query that is only in QUERY_STRING was added by the web server's configuration.
        head.QueryString = query.IsEmpty ? MapQuery(variables.QueryString) : Encoding.ASCII.GetString(query);
        return MapRawPath(path, ref variables, mapping, ref head);
    }

    /// <summary>
    /// Parses REQUEST_URI (RFC 9112, section 3.2). Cuts scheme and authority from the absolute form, which Apache
    /// passes if the client sent it.
    /// </summary>
    private static RequestRejection ParseTarget(
        scoped ref ReadOnlySpan<byte> requestUri, ReadOnlySpan<byte> method,
        out ReadOnlySpan<byte> path, out ReadOnlySpan<byte> query)
    {
        path = default;
        query = default;
        if (!Ascii.IsValid(requestUri) || requestUri.Contains((byte)0))
            return RequestRejection.InvalidTarget;

        if (requestUri[0] != '/')
        {
            var isAsterisk = requestUri.SequenceEqual("*"u8);
            if (isAsterisk || (method.SequenceEqual("CONNECT"u8) && !requestUri.Contains((byte)'/')))
                return isAsterisk && !method.SequenceEqual("OPTIONS"u8)
                    ? RequestRejection.AsteriskTarget
                    : RequestRejection.None;

            if (!TryCutAuthority(ref requestUri))
                return RequestRejection.InvalidTarget;
        }

        var end = requestUri.IndexOf((byte)'?');
        if (end < 0)
            end = requestUri.Length;
        path = end == 0 ? "/"u8 : requestUri[..end];
        query = requestUri[end..];
        return RequestRejection.None;
    }

    private static bool TryCutAuthority(ref ReadOnlySpan<byte> target)
    {
        var scheme = target.IndexOf("://"u8);
        if (scheme <= 0 || !char.IsAsciiLetter((char)target[0]) || target[..scheme].ContainsAny("/?#"u8))
            return false;

        var authority = target[(scheme + 3)..];
        var end = authority.IndexOfAny((byte)'/', (byte)'?');
        target = end < 0 ? "/"u8 : authority[end..];
        return true;
    }

    private static string MapQuery(ReadOnlySpan<byte> query)
        => query.IsEmpty ? string.Empty : "?" + CgiMapping.DecodeUncached(query);

    private static RequestRejection MapRawPath(
        ReadOnlySpan<byte> path, scoped ref RequestVariables variables, CgiMapping mapping, ref RequestHead head)
    {
        if (PathDecoder.IsPlain(path))
        {
            SplitPath(path, ref variables, mapping, ref head);
            return RequestRejection.None;
        }

        var decoded = path.Length <= MaxPathOnStack ? stackalloc byte[MaxPathOnStack] : new byte[path.Length];
        var length = PathDecoder.Decode(path, decoded);
        if (length < 0)
            return RequestRejection.NullCharacterInPath;

        SplitPath(decoded[..length], ref variables, mapping, ref head);
        return RequestRejection.None;
    }

    /// <summary>Maps a path that the web server has decoded, so <c>%2F</c> and dot segments are lost.</summary>
    private static RequestRejection MapDecodedPath(
        ReadOnlySpan<byte> first, ReadOnlySpan<byte> second, scoped ref RequestVariables variables, CgiMapping mapping,
            ref RequestHead head)
    {
        if (first.Contains((byte)0) || second.Contains((byte)0))
            return RequestRejection.NullCharacterInPath;

        var maxLength = first.Length + second.Length + 1;
        var path = (maxLength <= MaxPathOnStack ? stackalloc byte[MaxPathOnStack] : new byte[maxLength])[..maxLength];
        path[0] = (byte)'/';
        first.CopyTo(path[1..]);
        second.CopyTo(path[(1 + first.Length)..]);
        if (path.Length > 1 && path[1] == '/')
            path = path[1..];

        if (!Utf8.IsValid(path))
            return RequestRejection.InvalidTarget;

        SplitPath(path[..PathDecoder.RemoveDotSegments(path)], ref variables, mapping, ref head);
        return RequestRejection.None;
    }

    /// <summary>
    /// Splits a path by whole segments, ignoring case like <c>UsePathBase</c>. PATH_BASE takes precedence over the
    /// configured base, and that over SCRIPT_NAME, which requires trust and PATH_INFO.
    /// </summary>
    private static void SplitPath(
        scoped ReadOnlySpan<byte> path, scoped ref RequestVariables variables, CgiMapping mapping,
        ref RequestHead head)
    {
        var length = 0;
        if (!variables.PathBase.IsEmpty)
            length = MatchBase(path, variables.PathBase);
        else if (mapping.PathBase.Length > 0)
            length = MatchBase(path, mapping.PathBase);
        else if (mapping.Options.TrustScriptName && variables.HasPathInfo)
            length = MatchBase(path, variables.ScriptName);

        head.PathBase = length == 0 ? string.Empty : GetPath(path[..length], mapping);
        head.Path = GetPath(path[length..], mapping);
    }

    private static int MatchBase(ReadOnlySpan<byte> path, ReadOnlySpan<byte> pathBase)
    {
        pathBase = pathBase.TrimEnd((byte)'/');
        if (pathBase.IsEmpty || pathBase[0] != '/' || path.Length < pathBase.Length)
            return 0;

        var isMatch = path[..pathBase.Length].SequenceEqual(pathBase)
            || (Ascii.IsValid(pathBase) && Ascii.EqualsIgnoreCase(path[..pathBase.Length], pathBase));
        var isWhole = path.Length == pathBase.Length || path[pathBase.Length] == '/';
        return isMatch && isWhole ? pathBase.Length : 0;
    }

    private static string GetPath(ReadOnlySpan<byte> utf8, CgiMapping mapping)
        => Ascii.IsValid(utf8) ? mapping.Strings.GetString(utf8) : Encoding.UTF8.GetString(utf8);
}
