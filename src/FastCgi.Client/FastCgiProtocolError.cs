namespace FastCgi.Client;

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
