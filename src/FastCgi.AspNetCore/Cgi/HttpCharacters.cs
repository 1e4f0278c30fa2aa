namespace FastCgi.AspNetCore.Cgi;

/// <summary>The characters that RFC 9110 allows in tokens and field values.</summary>
internal static class HttpCharacters
{
    private const string Alphanumerics = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    private const string TokenCharacters = "!#$%&'*+-.^_`|~" + Alphanumerics;

    private const string ControlCharacters =
        "\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008\u000A\u000B\u000C\u000D\u000E\u000F"
            + "\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001A\u001B\u001C\u001D\u001E\u001F\u007F";

    // Lower bytes are CR, LF, NUL and others that values rarely contain.
    private const byte FirstPlainByte = 0x0e;

    // Fits the ids of nginx (32), mod_unique_id (24 to 30), W3C traceparent (55) and two UUIDs.
    private const int MaxTraceIdentifierLength = 128;

    private static readonly SearchValues<char> s_traceIdentifierChars =
        SearchValues.Create(Alphanumerics + "-_.:@+/=");

    private static readonly SearchValues<byte> s_tokenBytes = SearchValues.Create(
        Encoding.ASCII.GetBytes(TokenCharacters));
    private static readonly SearchValues<char> s_tokenChars = SearchValues.Create(TokenCharacters);
    private static readonly SearchValues<char> s_asciiFieldValueChars =
        SearchValues.Create("\t \"(),/:;<=>?@[\\]{}" + TokenCharacters);
    private static readonly SearchValues<byte> s_hostBytes = SearchValues.Create(
        Encoding.ASCII.GetBytes("!$&'()-._~" + Alphanumerics));
    private static readonly SearchValues<byte> s_ipv6Bytes = SearchValues.Create("0123456789abcdefABCDEF:."u8);
    private static readonly SearchValues<char> s_controlChars = SearchValues.Create(ControlCharacters);

    public static bool IsTraceIdentifier(ReadOnlySpan<char> value)
        => value.Length is > 0 and <= MaxTraceIdentifierLength && !value.ContainsAnyExcept(s_traceIdentifierChars);

    /// <summary>Whether a text is a token: a method or a field name (RFC 9110, section 5.6.2).</summary>
    public static bool IsToken(ReadOnlySpan<byte> value) => !value.IsEmpty && !value.ContainsAnyExcept(s_tokenBytes);

    /// <summary>Whether a Host is valid in Kestrel, or has an empty port, as from nginx on a Unix socket.</summary>
    public static bool IsHost(ReadOnlySpan<byte> value)
    {
        int end;
        if (value.StartsWith("["u8))
        {
            end = value.IndexOf((byte)']') + 1;
            if (end < "[::1]".Length || value[1..(end - 1)].ContainsAnyExcept(s_ipv6Bytes))
                return false;
        }
        else
        {
            end = value.IndexOfAnyExcept(s_hostBytes);
            if (end <= 0)
                return end < 0;
        }

        var port = value[end..];
        return port.IsEmpty || (port[0] == ':' && !port[1..].ContainsAnyExceptInRange((byte)'0', (byte)'9'));
    }

    public static int IndexOfNonToken(ReadOnlySpan<char> value) => value.IndexOfAnyExcept(s_tokenChars);

    /// <summary>The first character other than HTAB, space and visible ASCII, or -1 (as Kestrel's responses).</summary>
    public static int IndexOfNonAsciiFieldValue(ReadOnlySpan<char> value)
        => value.IndexOfAnyExcept(s_asciiFieldValueChars);

    /// <summary>The first control character other than HTAB, or -1: the rule if an encoding was selected.</summary>
    public static int IndexOfControl(ReadOnlySpan<char> value) => value.IndexOfAny(s_controlChars);

    /// <summary>Whether a received value may contain CR, LF or NUL, or non-ASCII bytes.</summary>
    public static bool IsSuspect(ReadOnlySpan<byte> value)
        => value.ContainsAnyExceptInRange(FirstPlainByte, (byte)0x7f);
}
