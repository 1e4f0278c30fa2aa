namespace FastCgi.Client;

/// <summary>Represents a response whose headers have arrived. Disposing it aborts an active request.</summary>
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

    /// <summary>Gets the status. Without a Status field, it is 302 if there is a Location, and otherwise 200.</summary>
    public int StatusCode { get; }

    /// <summary>Gets the reason phrase, or an empty string if there is none.</summary>
    public string ReasonPhrase { get; }

    /// <summary>Gets the header fields except Status, in order. Values are decoded as ISO 8859-1.</summary>
    public IReadOnlyList<KeyValuePair<string, string>> Headers { get; }

    /// <summary>
    /// Gets the body. Reading fails with a <see cref="FastCgiProtocolException"/> if the body is shorter or longer than
    /// its Content-Length. An unread body makes the application wait. The body is empty for HEAD, 204 and 304.
    /// </summary>
    public Stream Body { get; }

    /// <summary>
    /// Gets the result of the request. It completes once the body has been read or buffered, and fails if the
    /// connection ends before that.
    /// </summary>
    public Task<FastCgiCompletion> Completion => _exchange.Completion;

    /// <summary>Gets what the application has written to standard error so far, as UTF-8.</summary>
    public string StandardError => _exchange.GetStandardError();

    /// <summary>Gets the first header field with a name.</summary>
    /// <param name="name">The name, which is not case-sensitive.</param>
    /// <param name="value">The value, or <see langword="null"/>.</param>
    /// <returns><see langword="true"/> if the field exists; otherwise, <see langword="false"/>.</returns>
    public bool TryGetHeader(string name, [NotNullWhen(true)] out string? value)
    {
        value = Headers.FirstOrDefault(header => header.Key.Equals(name, StringComparison.OrdinalIgnoreCase)).Value;
        return value is not null;
    }

    /// <summary>Aborts an active request by closing its connection.</summary>
    public void Dispose() => Body.Dispose();

    /// <inheritdoc cref="Dispose"/>
    public ValueTask DisposeAsync() => Body.DisposeAsync();
}
