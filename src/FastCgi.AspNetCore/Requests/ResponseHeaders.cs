using System.Text;
using FastCgi.AspNetCore.Cgi;
using Microsoft.Extensions.Primitives;
using Known = Microsoft.Net.Http.Headers.HeaderNames;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The headers of a response, checked when they are set, as Kestrel does, and read-only once it has started.</summary>
/// <param name="requestLock">The lock of the request.</param>
internal sealed class ResponseHeaders(RequestLock requestLock) : HeaderCollection(requestLock)
{
    /// <summary>Chooses the encoding of a header by its name; ASCII where there is none.</summary>
    public Func<string, Encoding?>? EncodingSelector { get; set; }

    /// <summary>The entries, in order. Once they are read-only, for a caller without the lock too.</summary>
    public ReadOnlySpan<KeyValuePair<string, StringValues>> Entries => StoredEntries;

    /// <summary>The length that the application has declared. Once it is read-only, for a caller without the lock too.</summary>
    public long? DeclaredLength => StoredContentLength;

    /// <summary>How often they have changed.</summary>
    public new int Version => base.Version;

    /// <summary>Whether they are those of a stream of events.</summary>
    public bool AreOfEventStream
        => Find(Known.ContentType) is >= 0 and var position
            && Entries[position].Value.ToString().StartsWith("text/event-stream", StringComparison.OrdinalIgnoreCase);

    /// <summary>Refuses changes from now on.</summary>
    public void MakeReadOnly(RequestScope scope) => IsReadOnly = true;

    /// <summary>Begins anew, for another response to the same request.</summary>
    public void Restart(RequestScope scope)
    {
        Reset(scope);
        IsReadOnly = false;
    }

    /// <summary>Takes over headers that were checked when they were set there.</summary>
    public void TakeFrom(RequestScope scope, ResponseHeaders other) => CopyFrom(scope, other);

    /// <summary>Sets the header that makes the web server send a file, whose value is plain ASCII.</summary>
    public void SetOffload(RequestScope scope, KeyValuePair<string, string> header)
    {
        foreach (var name in SendFileOffload.GetReplacedHeaders(header.Key))
            Remove(name);
        Store(scope, header.Key, header.Value);
    }

    /// <summary>Adds a header of the server's own, unless the application has set it.</summary>
    public void TryAppend(RequestScope scope, string name, string value)
    {
        if (Find(name) < 0)
            Store(scope, name, value);
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
