namespace FastCgi.AspNetCore.Requests;

/// <summary>The headers of a response, validated when set, as in Kestrel, and read-only once it has started.</summary>
internal sealed class ResponseHeaders : HeaderCollection
{
    private Dictionary<string, Encoding>? _encodings;

    /// <summary>Chooses the encoding of a header by its name; null means ASCII.</summary>
    public Func<string, Encoding?>? EncodingSelector { get; init; }

    /// <summary>Whether the application has set a header that belongs to the web server.</summary>
    public bool HasReservedHeader { get; private set; }

    public void Restart()
    {
        SetReadOnly(isReadOnly: true);
        Table.Clear();
        _encodings = null;
    }

    /// <returns><see langword="null"/> if all fields are ASCII.</returns>
    public byte[]? Encode()
        => _encodings is null ? null : CgiResponseWriter.EncodeFields(Table.Entries, _encodings);

    /// <summary>Sets the header that makes the web server send a file. Its value is ASCII.</summary>
    public void SetOffload(KeyValuePair<string, string> header)
    {
        foreach (var name in SendFileOffload.GetReplacedHeaders(header.Key))
            Table.Remove(name);
        Table.Set(header.Key, header.Value);
    }

    protected override void Validate(string name, StringValues value)
    {
        var invalid = HttpCharacters.IndexOfNonToken(name);
        if (invalid >= 0)
            throw InvalidCharacter(name[invalid]);

        HasReservedHeader |= CgiResponseWriter.IsReserved(name);
        var encoding = EncodingSelector?.Invoke(name);
        foreach (var text in value)
        {
            if (text is null)
                continue;

            invalid = encoding is null
                ? HttpCharacters.IndexOfNonAsciiFieldValue(text)
                : HttpCharacters.IndexOfControl(text);
            if (invalid >= 0)
                throw InvalidCharacter(text[invalid]);
        }

        if (encoding is not null)
            (_encodings ??= new(StringComparer.OrdinalIgnoreCase))[name] = encoding;
    }

    protected override Exception InvalidContentLength(string value)
        => new InvalidOperationException($"Invalid Content-Length: \"{value}\". Value must be a positive integral "
            + "number.");

    private static InvalidOperationException InvalidCharacter(char c)
        => new($"Invalid non-ASCII or control character in header: 0x{(int)c:X4}");
}
