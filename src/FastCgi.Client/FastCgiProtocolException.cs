namespace FastCgi.Client;

/// <summary>The exception for an answer that is malformed or ended too early, or a request whose body has another length than declared.</summary>
public sealed class FastCgiProtocolException : IOException
{
    /// <summary>Creates the exception.</summary>
    /// <param name="error">Why the answer cannot be used.</param>
    /// <param name="message">The same for people.</param>
    /// <param name="innerException">What the system said, if it did.</param>
    public FastCgiProtocolException(FastCgiProtocolError error, string message, Exception? innerException = null)
        : base(message, innerException)
        => Error = error;

    /// <summary>Why the answer cannot be used.</summary>
    public FastCgiProtocolError Error { get; }

    /// <summary>How the request ended, if it did: a refused one has its protocolStatus here.</summary>
    public FastCgiCompletion? Completion { get; init; }

    /// <inheritdoc/>
    public override string Message => Address is null ? base.Message : $"{Address}: {base.Message}";

    internal FastCgiAddress? Address { get; set; }
}

/// <summary>Why an answer could not be used.</summary>
public enum FastCgiProtocolError
{
    /// <summary>What came is not FastCGI: a wrong version, a record that only a web server sends, or a body of a wrong length.</summary>
    MalformedRecord,

    /// <summary>The header block of the answer is not one of CGI.</summary>
    MalformedHeaders,

    /// <summary>The header block is larger than <see cref="FastCgiClientOptions.MaxResponseHeadersSize"/>.</summary>
    HeadersTooLarge,

    /// <summary>The connection ended before the answer did.</summary>
    ConnectionClosed,

    /// <summary>The request ended without an answer: see the protocolStatus, the appStatus and standard error.</summary>
    NoAnswer,

    /// <summary>The body has fewer bytes than its Content-Length, or the application ended it as failed.</summary>
    BodyTooShort,

    /// <summary>The body has more bytes than its Content-Length.</summary>
    BodyTooLong,

    /// <summary>The body of the request has another length than its CONTENT_LENGTH.</summary>
    RequestBodyLength,
}
