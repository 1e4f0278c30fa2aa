namespace FastCgi.Client.Cgi;

/// <summary>The header block of a response (RFC 3875, section 6), up to and including the empty line.</summary>
internal sealed record HeaderBlock(
    int StatusCode, string ReasonPhrase, IReadOnlyList<KeyValuePair<string, string>> Headers, long? ContentLength)
{
    private static readonly SearchValues<byte> s_token = SearchValues.Create(
        "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"u8);

    public static int FindEnd(ReadOnlySpan<byte> bytes, ref int from)
    {
        int feed;
        while ((feed = bytes[from..].IndexOf((byte)'\n')) >= 0)
        {
            if (bytes.Slice(from, feed) is [] or [(byte)'\r'])
                return from + feed + 1;
            from += feed + 1;
        }

        return -1;
    }

    public static HeaderBlock Parse(ReadOnlySpan<byte> block)
    {
        var headers = new List<KeyValuePair<string, string>>();
        (int Code, string Reason)? status = null;
        long? length = null;
        var hasLocation = false;
        foreach (var range in block.Split((byte)'\n'))
        {
            var line = block[range];
            if (line.EndsWith("\r"u8))
                line = line[..^1];
            if (line.IsEmpty)
                break;

            var (name, value) = ParseLine(line);
            if (name.Equals("Status", StringComparison.OrdinalIgnoreCase))
            {
                status = status is null ? ParseStatus(value) : throw Malformed("it has two Status fields");
                continue;
            }

            hasLocation |= name.Equals("Location", StringComparison.OrdinalIgnoreCase);
            if (name.Equals("Content-Length", StringComparison.OrdinalIgnoreCase))
                length = ParseLength(value, length);
            headers.Add(new(name, value));
        }

        if (headers.Count == 0 && status is null)
            throw Malformed("it has no fields");

        var (code, reason) = status ?? (hasLocation ? (302, "Found") : (200, "OK"));
        return new HeaderBlock(code, reason, headers, length);
    }

    private static (string Name, string Value) ParseLine(ReadOnlySpan<byte> line)
    {
        var colon = line.IndexOf((byte)':');
        if (line.StartsWith("HTTP/"u8) && colon < 0)
            throw Malformed($"it begins with an HTTP status line, '{Show(line)}', instead of 'Status: 200 OK'");
        if (colon <= 0)
            throw Malformed($"the line '{Show(line)}' has no name and colon");
        if (line[..colon].ContainsAnyExcept(s_token))
            throw Malformed($"the name in '{Show(line)}' contains invalid characters");

        var value = line[(colon + 1)..].Trim(" \t"u8);
        if (value.IndexOfAny((byte)'\r', (byte)0) >= 0)
            throw Malformed($"the value of '{Encoding.Latin1.GetString(line[..colon])}' has a CR or NUL");
        return (Encoding.Latin1.GetString(line[..colon]), Encoding.Latin1.GetString(value));
    }

    private static (int Code, string Reason) ParseStatus(string value)
    {
        if (value.Length >= 3 && (value.Length == 3 || value[3] == ' ')
            && int.TryParse(value.AsSpan(0, 3), NumberStyles.None, CultureInfo.InvariantCulture, out var code)
            && code is >= 100 and <= 999)
            return (code, value.Length > 4 ? value[4..].Trim() : "");
        throw Malformed($"its Status is '{Show(value)}' instead of three digits");
    }

    private static long ParseLength(string value, long? earlier)
    {
        if (!long.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out var length))
            throw Malformed($"its Content-Length is '{Show(value)}' instead of digits");
        return earlier is null || earlier == length
            ? length
            : throw Malformed("it has two different Content-Length fields");
    }

    public static string Show(ReadOnlySpan<byte> line) => Show(Encoding.Latin1.GetString(line));

    private static string Show(string line)
    {
        const int Shown = 60;
        var text = string.Concat(line.Take(Shown).Select(static letter => char.IsControl(letter) ? '?' : letter));
        return line.Length > Shown ? text + "…" : text;
    }

    private static FastCgiProtocolException Malformed(string why)
        => new(FastCgiProtocolError.MalformedHeaders, $"The header block of the response cannot be read: {why}.");
}
