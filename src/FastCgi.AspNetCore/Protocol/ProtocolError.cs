namespace FastCgi.AspNetCore.Protocol;

/// <summary>The reason why a connection cannot be parsed further. It closes; others are not affected.</summary>
internal enum ProtocolError : byte
{
    None,

    /// <summary>A record with a version other than 1, so that nothing after it can be parsed.</summary>
    UnsupportedVersion,

    HttpOnFastCgiPort,

    TlsOnFastCgiPort,

    UwsgiOnFastCgiPort,

    ScgiOnFastCgiPort,

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

/// <summary>Recognizes other protocols, the most common setup mistake, by their first bytes.</summary>
internal static class OtherProtocols
{
    // The position of the colon after up to six digits: an SCGI request starts with a netstring.
    private const int MaxScgiColon = 6;

    public static ProtocolError Recognize(ReadOnlySpan<byte> bytes) => bytes switch
    {
        [0x16, ..] => ProtocolError.TlsOnFastCgiPort,
        [>= (byte)'A' and <= (byte)'Z', ..] => ProtocolError.HttpOnFastCgiPort,
        // Modifier 0, the size, modifier 0, and the length of the first key.
        [0, _, _, 0, not 0, 0, ..] => ProtocolError.UwsgiOnFastCgiPort,
        [>= (byte)'1' and <= (byte)'9', ..] when bytes.IndexOf((byte)':') is > 0 and <= MaxScgiColon
            => ProtocolError.ScgiOnFastCgiPort,
        _ => ProtocolError.UnsupportedVersion,
    };

    /// <returns><see langword="null"/> for other errors.</returns>
    public static string? GetName(ProtocolError error) => error switch
    {
        ProtocolError.HttpOnFastCgiPort => "HTTP",
        ProtocolError.TlsOnFastCgiPort => "TLS",
        ProtocolError.UwsgiOnFastCgiPort => "uwsgi",
        ProtocolError.ScgiOnFastCgiPort => "SCGI",
        _ => null,
    };
}
