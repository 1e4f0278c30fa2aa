using System.Text;
using FastCgi.AspNetCore.Cgi;
using Microsoft.Extensions.Primitives;

namespace FastCgi.AspNetCore.Responses;

/// <summary>The headers of a response, checked when they are set, as Kestrel does, and read-only once it has started.</summary>
internal sealed class ResponseHeaders : HeaderCollection
{
    /// <summary>Chooses the encoding of a header by its name; ASCII where there is none.</summary>
    public Func<string, Encoding?>? EncodingSelector { get; set; }

    /// <summary>Refuses changes from now on.</summary>
    public void MakeReadOnly() => IsReadOnly = true;

    /// <summary>Empties the collection for another response.</summary>
    public void Begin()
    {
        IsReadOnly = false;
        Reset();
    }

    /// <summary>Takes over headers that were checked when they were set there.</summary>
    public void TakeFrom(ResponseHeaders other) => CopyFrom(other);

    /// <summary>Sets the header that makes the web server send a file, whose value is plain ASCII.</summary>
    public void SetOffload(KeyValuePair<string, string> header)
    {
        foreach (var name in SendFileOffload.GetReplacedHeaders(header.Key))
            Remove(name);
        Remove(header.Key);
        Append(header.Key, header.Value);
    }

    /// <summary>Adds a header of the server's own, unless the application has set it.</summary>
    public void TryAppend(string name, string value)
    {
        if (!ContainsKey(name))
            Append(name, value);
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

            invalid = hasEncoding ? HttpCharacters.IndexOfControl(text) : HttpCharacters.IndexOfNonAsciiFieldValue(text);
            if (invalid >= 0)
                throw InvalidCharacter(text[invalid]);
        }
    }

    protected override Exception InvalidContentLength(string value)
        => new InvalidOperationException($"Invalid Content-Length: \"{value}\". Value must be a positive integral number.");

    private static InvalidOperationException InvalidCharacter(char c)
        => new($"Invalid non-ASCII or control character in header: 0x{(int)c:X4}");
}
