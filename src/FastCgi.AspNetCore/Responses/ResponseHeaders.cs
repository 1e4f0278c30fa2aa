using System.Text;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.Extensions.Primitives;
using Known = Microsoft.Net.Http.Headers.HeaderNames;

namespace FastCgi.AspNetCore.Responses;

/// <summary>The headers of a response, checked when they are set, as Kestrel does, and read-only once it has started.</summary>
/// <param name="responseLock">The lock of the response. The server's own members are for a caller that has it.</param>
internal sealed class ResponseHeaders(ResponseLock responseLock) : HeaderCollection(responseLock)
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
    public void MakeReadOnly() => IsReadOnly = true;

    /// <summary>Begins with another response. Without the lock: nobody can have changed what <see cref="End"/> has left.</summary>
    public void Begin() => IsReadOnly = false;

    /// <summary>Begins anew, for another response to the same request.</summary>
    public void Restart()
    {
        Reset();
        Begin();
    }

    /// <summary>Ends with the response: what still refers to the collection finds it empty, and cannot change it.</summary>
    public void End()
    {
        Reset();
        MakeReadOnly();
    }

    /// <summary>Takes over headers that were checked when they were set there.</summary>
    public void TakeFrom(ResponseHeaders other) => CopyFrom(other);

    /// <summary>Sets the header that makes the web server send a file, whose value is plain ASCII.</summary>
    public void SetOffload(KeyValuePair<string, string> header)
    {
        foreach (var name in SendFileOffload.GetReplacedHeaders(header.Key))
            Remove(name);
        Store(header.Key, header.Value);
    }

    /// <summary>Adds a header of the server's own, unless the application has set it.</summary>
    public void TryAppend(string name, string value)
    {
        if (Find(name) < 0)
            Store(name, value);
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
