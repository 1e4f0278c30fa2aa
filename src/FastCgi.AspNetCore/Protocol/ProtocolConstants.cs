namespace FastCgi.AspNetCore.Protocol;

/// <summary>The constants of FastCGI 1.0, with their section of the specification.</summary>
internal static class ProtocolConstants
{
    /// <summary>FCGI_VERSION_1 (section 8).</summary>
    public const byte Version = 1;

    /// <summary>FCGI_HEADER_LEN: the bytes of a record header (sections 3.3 and 8).</summary>
    public const int HeaderLength = 8;

    /// <summary>The content length of BEGIN_REQUEST, END_REQUEST and UNKNOWN_TYPE (sections 5.1, 5.5, 4.2).</summary>
    public const int FixedBodyLength = 8;

    /// <summary>The maximum of contentLength, which has 16 bits (section 3.3).</summary>
    public const int MaxContentLength = 65_535;

    /// <summary>A length that aligns the next record to 8 bytes without padding, as section 3.3 recommends.</summary>
    public const int MaxAlignedContentLength = 65_528;

    /// <summary>FCGI_NULL_REQUEST_ID: the request id of management records (section 3.3).</summary>
    public const ushort NullRequestId = 0;

    /// <summary>FCGI_KEEP_CONN: the web server decides when to close the connection (section 5.1).</summary>
    public const byte KeepConnectionFlag = 1;

    /// <summary>Bytes that are no record. To most web servers, they mean that the response has failed.</summary>
    public static ReadOnlySpan<byte> CutMark => [9, 9, 9, 9, 9, 9, 9, 9];

    // Names in GET_VALUES (section 4.1).
    public static ReadOnlySpan<byte> MaxConnectionsName => "FCGI_MAX_CONNS"u8;
    public static ReadOnlySpan<byte> MaxRequestsName => "FCGI_MAX_REQS"u8;
    public static ReadOnlySpan<byte> MultiplexesConnectionsName => "FCGI_MPXS_CONNS"u8;
}
