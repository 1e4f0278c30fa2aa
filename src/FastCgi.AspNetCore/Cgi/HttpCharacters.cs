namespace FastCgi.AspNetCore.Cgi;

/// <summary>The characters that RFC 9110 allows in tokens and field values.</summary>
internal static class HttpCharacters
{
    private const string Alphanumerics = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    private const string TokenCharacters = "!#$%&'*+-.^_`|~" + Alphanumerics;

    // Lower bytes are CR, LF, NUL and others that values rarely contain.
    private const byte FirstPlainByte = 0x0e;

    // Fits the ids of nginx (32), mod_unique_id (24 to 30), W3C traceparent (55) and two UUIDs.
    private const int MaxTraceIdentifierLength = 128;

    private static readonly SearchValues<char> s_traceIdentifierChars =
        SearchValues.Create(Alphanumerics + "-_.:@+/=");

    private static readonly SearchValues<byte> s_tokenBytes = SearchValues.Create(
        Encoding.ASCII.GetBytes(TokenCharacters));
    private static readonly SearchValues<char> s_tokenChars = SearchValues.Create(TokenCharacters);
    private static readonly SearchValues<char> s_asciiFieldValueChars = CreateAscii(isControl: false);
    private static readonly SearchValues<char> s_controlChars = CreateAscii(isControl: true);

    public static bool IsTraceIdentifier(ReadOnlySpan<char> value)
        => value.Length is > 0 and <= MaxTraceIdentifierLength && !value.ContainsAnyExcept(s_traceIdentifierChars);

    /// <summary>A token is a method or a field name (RFC 9110, section 5.6.2).</summary>
    public static bool IsToken(ReadOnlySpan<byte> value) => !value.IsEmpty && !value.ContainsAnyExcept(s_tokenBytes);

    public static int IndexOfNonToken(ReadOnlySpan<char> value) => value.IndexOfAnyExcept(s_tokenChars);

    /// <summary>
    /// The first character other than HTAB, space and visible ASCII, or -1 (Kestrel's rule for response values).
    /// </summary>
    public static int IndexOfNonAsciiFieldValue(ReadOnlySpan<char> value)
        => value.IndexOfAnyExcept(s_asciiFieldValueChars);

    /// <summary>
    /// The first control character other than HTAB, or -1: the rule if an encoding was selected for the header.
    /// </summary>
    public static int IndexOfControl(ReadOnlySpan<char> value) => value.IndexOfAny(s_controlChars);

    /// <summary>Whether a received value may contain CR, LF or NUL, or non-ASCII bytes.</summary>
    public static bool IsSuspect(ReadOnlySpan<byte> value)
    {
        // Eight bytes at a time. The framework's search would be compiled at the first request.
        const int Size = sizeof(ulong);
        if (value.Length < Size)
        {
            foreach (var b in value)
            {
                if (b is < FirstPlainByte or > 0x7f)
                    return true;
            }

            return false;
        }

        ref var start = ref MemoryMarshal.GetReference(value);
        var last = value.Length - Size;
        var found = FindSuspect(Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref start, last)));
        for (var i = 0; i < last; i += Size)
            found |= FindSuspect(Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref start, i)));
        return found != 0;
    }

    /// <returns>
    /// 0 if all bytes are plain; otherwise, the highest bit of that byte is set, or, through the borrow, that of a
    /// higher byte.
    /// </returns>
    private static ulong FindSuspect(ulong bytes)
    {
        const ulong EachByte = 0x0101_0101_0101_0101;
        return (bytes | (bytes - (EachByte * FirstPlainByte))) & (EachByte * 0x80);
    }

    // LINQ over char and byte would be compiled at the first request.
    private static SearchValues<char> CreateAscii(bool isControl)
    {
        var characters = new List<char>();
        for (var c = '\0'; c <= '\x7f'; c++)
        {
            if ((c != '\t' && char.IsControl(c)) == isControl)
                characters.Add(c);
        }

        return SearchValues.Create(CollectionsMarshal.AsSpan(characters));
    }
}
