using Microsoft.Extensions.Primitives;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The headers of a response, validated when they are set, as in Kestrel, and read-only once it has started.
/// </summary>
internal sealed class ResponseHeaders(RequestLock requestLock) : HeaderCollection(requestLock)
{
    /// <summary>Chooses the encoding of a header by its name; null means ASCII.</summary>
    public Func<string, Encoding?>? EncodingSelector { get; set; }

    /// <summary>Clears the headers for another response to the same request.</summary>
    public void Restart(RequestScope scope)
    {
        In(scope).Clear();
        SetReadOnly(scope, isReadOnly: false);
    }

    /// <summary>Sets the header that makes the web server send a file. Its value is ASCII.</summary>
    public void SetOffload(RequestScope scope, KeyValuePair<string, string> header)
    {
        ref var table = ref In(scope);
        foreach (var name in SendFileOffload.GetReplacedHeaders(header.Key))
            table.Remove(name);
        table.Set(header.Key, header.Value);
    }

    protected override void Validate(string name, StringValues value)
    {
        var invalid = HttpCharacters.IndexOfNonToken(name);
        if (invalid >= 0)
            throw InvalidCharacter(name[invalid]);

        var hasEncoding = EncodingSelector?.Invoke(name) is not null;
        foreach (var text in value)
        {
            if (text is null)
                continue;

            invalid = hasEncoding
                ? HttpCharacters.IndexOfControl(text)
                : HttpCharacters.IndexOfNonAsciiFieldValue(text);
            if (invalid >= 0)
                throw InvalidCharacter(text[invalid]);
        }
    }

    protected override Exception InvalidContentLength(string value)
        => new InvalidOperationException($"Invalid Content-Length: \"{value}\". Value must be a positive integral "
            + "number.");

    private static InvalidOperationException InvalidCharacter(char c)
        => new($"Invalid non-ASCII or control character in header: 0x{(int)c:X4}");
}
