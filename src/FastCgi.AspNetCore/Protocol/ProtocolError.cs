namespace FastCgi.AspNetCore.Protocol;

/// <summary>Why a connection cannot be read further. It is closed; other connections are not affected.</summary>
internal enum ProtocolError : byte
{
    None,

    /// <summary>A record's version is not 1, so nothing after it can be trusted.</summary>
    UnsupportedVersion,

    HttpOnFastCgiPort,

    TlsOnFastCgiPort,

    /// <summary>An application record with request id 0 (section 3.3).</summary>
    ApplicationRecordWithNullRequestId,

    /// <summary>A BEGIN_REQUEST whose content is not 8 bytes (section 5.1).</summary>
    BeginRequestLength,

    DuplicateRequestId,

    /// <summary>A GET_VALUES whose content is not a list of name-value pairs (section 4.1).</summary>
    MalformedGetValues,

    /// <summary>The peer keeps sending GET_VALUES without reading the answers.</summary>
    AnswersNotRead,
}
