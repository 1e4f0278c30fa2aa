namespace FastCgi.Client;

/// <summary>
/// The exception that is thrown for a malformed or incomplete response, or a request body that does not match its
/// CONTENT_LENGTH.
/// </summary>
/// <param name="error">The error.</param>
/// <param name="message">The message.</param>
/// <param name="innerException">The system's exception, or <see langword="null"/>.</param>
public sealed class FastCgiProtocolException(
    FastCgiProtocolError error, string message, Exception? innerException = null)
    : IOException(message, innerException)
{
    /// <summary>Gets the error.</summary>
    public FastCgiProtocolError Error { get; } = error;

    /// <summary>
    /// Gets the result of the request, including the protocolStatus of a refused request, or <see langword="null"/> if
    /// it did not end.
    /// </summary>
    public FastCgiCompletion? Completion { get; init; }

    /// <inheritdoc/>
    public override string Message => Address is null ? base.Message : $"{Address}: {base.Message}";

    internal FastCgiAddress? Address { get; set; }
}

/// <summary>Specifies why a request failed.</summary>
public enum FastCgiProtocolError
{
    /// <summary>The response is not FastCGI: a record has a wrong version, type or length.</summary>
    MalformedRecord,

    /// <summary>The response headers are not valid CGI.</summary>
    MalformedHeaders,

    /// <summary>The headers exceed <see cref="FastCgiClientOptions.MaxResponseHeadersSize"/>.</summary>
    HeadersTooLarge,

    /// <summary>The connection ended before the response was complete.</summary>
    ConnectionClosed,

    /// <summary>The request ended without a response: see its protocolStatus, appStatus and standard error.</summary>
    NoAnswer,

    /// <summary>The body has fewer bytes than its Content-Length, or the application reported a failure.</summary>
    BodyTooShort,

    /// <summary>The body has more bytes than its Content-Length.</summary>
    BodyTooLong,

    /// <summary>The length of the request body differs from its CONTENT_LENGTH.</summary>
    RequestBodyLength,
}
