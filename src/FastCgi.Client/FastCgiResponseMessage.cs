using System.Diagnostics.CodeAnalysis;
using FastCgi.Client.Cgi;
using FastCgi.Client.Connections;
using FastCgi.Client.Streams;

namespace FastCgi.Client;

/// <summary>An answer whose header block has come. Its body comes as it is read. Dispose it: one that has not ended is aborted then.</summary>
public sealed class FastCgiResponseMessage : IDisposable, IAsyncDisposable
{
    private readonly Exchange _exchange;

    internal FastCgiResponseMessage(Exchange exchange, HeaderBlock head, bool hasBody)
    {
        _exchange = exchange;
        StatusCode = head.StatusCode;
        ReasonPhrase = head.ReasonPhrase;
        Headers = head.Headers;
        Body = new ResponseMessageStream(exchange, hasBody, head.ContentLength);
    }

    /// <summary>The status: of the field Status, else 302 if there is a Location, else 200 (RFC 3875, section 6.2).</summary>
    public int StatusCode { get; }

    /// <summary>The text behind the status; empty if there is none.</summary>
    public string ReasonPhrase { get; }

    /// <summary>The header fields without Status, in their order. The values are read as ISO 8859-1, so that no byte is lost.</summary>
    public IReadOnlyList<KeyValuePair<string, string>> Headers { get; }

    /// <summary>
    /// The body. Reading fails with a <see cref="FastCgiProtocolException"/> if it ends too early or has more bytes than its Content-Length. While nobody
    /// reads, the application waits. It is empty for HEAD, 204 and 304, whatever the application sends.
    /// </summary>
    public Stream Body { get; }

    /// <summary>The end of the request. It comes only when the body has been read, or fits into the buffer; it fails if the connection ends before.</summary>
    public Task<FastCgiCompletion> Completion => _exchange.Completion;

    /// <summary>What the application has written to its standard error so far, as UTF-8.</summary>
    public string StandardError => _exchange.StandardError;

    /// <summary>Finds the first header field of a name.</summary>
    /// <param name="name">The name, in any case.</param>
    /// <param name="value">Its value.</param>
    /// <returns>Whether there is one.</returns>
    public bool TryGetHeader(string name, [NotNullWhen(true)] out string? value)
    {
        value = Headers.FirstOrDefault(header => header.Key.Equals(name, StringComparison.OrdinalIgnoreCase)).Value;
        return value is not null;
    }

    /// <summary>Aborts the request if it has not ended: with ABORT_REQUEST if others share its connection, else by closing the connection.</summary>
    public void Dispose() => Body.Dispose();

    /// <inheritdoc cref="Dispose"/>
    public ValueTask DisposeAsync() => Body.DisposeAsync();
}
