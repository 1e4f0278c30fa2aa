using System.Buffers;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>The characters that RFC 9110 allows in tokens and field values, as sets that are searched at once.</summary>
internal static class HttpCharacters
{
    private const string TokenCharacters = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    // Room for the ids of nginx (32), mod_unique_id (24 to 30), W3C traceparent (55) and two UUIDs.
    private const int MaxTraceIdentifierLength = 128;

    private static readonly SearchValues<char> s_traceIdentifierChars =
        SearchValues.Create("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_.:@+/=");

    private static readonly SearchValues<byte> s_tokenBytes = SearchValues.Create([.. TokenCharacters.Select(static c => (byte)c)]);
    private static readonly SearchValues<char> s_tokenChars = SearchValues.Create(TokenCharacters);

    private static readonly SearchValues<char> s_asciiFieldValueChars =
        SearchValues.Create([.. Enumerable.Range(0x20, 0x7f - 0x20).Append('\t').Select(static c => (char)c)]);

    private static readonly SearchValues<char> s_controlChars =
        SearchValues.Create([.. Enumerable.Range(0, 0x20).Where(static c => c != '\t').Append(0x7f).Select(static c => (char)c)]);

    private static readonly SearchValues<byte> s_suspectValueBytes =
        SearchValues.Create([0, (byte)'\r', (byte)'\n', .. Enumerable.Range(0x80, 0x80).Select(static b => (byte)b)]);

    /// <summary>Whether a text can be the id of a request: it stands in logs, and may stand in headers and addresses.</summary>
    public static bool IsTraceIdentifier(ReadOnlySpan<char> value)
        => value.Length is > 0 and <= MaxTraceIdentifierLength && !value.ContainsAnyExcept(s_traceIdentifierChars);

    /// <summary>Whether the bytes are a token: a method or a field name (RFC 9110, section 5.6.2).</summary>
    public static bool IsToken(ReadOnlySpan<byte> value) => !value.IsEmpty && !value.ContainsAnyExcept(s_tokenBytes);

    /// <summary>The first character that cannot be in a token, or -1.</summary>
    public static int IndexOfNonToken(ReadOnlySpan<char> value) => value.IndexOfAnyExcept(s_tokenChars);

    /// <summary>The first character that is neither HTAB nor visible ASCII nor a space, or -1 (Kestrel's rule for response values).</summary>
    public static int IndexOfNonAsciiFieldValue(ReadOnlySpan<char> value) => value.IndexOfAnyExcept(s_asciiFieldValueChars);

    /// <summary>The first control character that is not HTAB, or -1: the rule where an encoding was chosen for the header.</summary>
    public static int IndexOfControl(ReadOnlySpan<char> value) => value.IndexOfAny(s_controlChars);

    /// <summary>Whether a received value needs a closer look: it has CR, LF, NUL or bytes beyond ASCII.</summary>
    public static bool IsSuspect(ReadOnlySpan<byte> value) => value.ContainsAny(s_suspectValueBytes);
}
