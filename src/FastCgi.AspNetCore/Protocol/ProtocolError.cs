namespace FastCgi.AspNetCore.Protocol;

/// <summary>Why a connection cannot be read any further. Each is fatal to its connection and to nothing else.</summary>
internal enum ProtocolError : byte
{
    None,

    /// <summary>A record's version is not 1, so nothing after it can be trusted.</summary>
    UnsupportedVersion,

    /// <summary>The first bytes are those of an HTTP request: a client or a <c>proxy_pass</c> on the FastCGI port.</summary>
    HttpOnFastCgiPort,

    /// <summary>The first bytes are those of a TLS handshake.</summary>
    TlsOnFastCgiPort,

    /// <summary>An application record with request id 0 (section 3.3).</summary>
    ApplicationRecordWithNullRequestId,

    /// <summary>A BEGIN_REQUEST whose content is not 8 bytes (section 5.1).</summary>
    BeginRequestLength,

    /// <summary>A BEGIN_REQUEST for an id that is in use.</summary>
    DuplicateRequestId,

    /// <summary>A GET_VALUES whose content is not a list of name-value pairs (section 4.1).</summary>
    MalformedGetValues,

    /// <summary>The peer goes on asking and does not read the answers.</summary>
    AnswersNotRead,
}
