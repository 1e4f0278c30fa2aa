namespace FastCgi.AspNetCore.Protocol;

/// <summary>The fixed numbers and names of FastCGI 1.0, each with its section of the specification.</summary>
internal static class ProtocolConstants
{
    /// <summary>FCGI_VERSION_1 (section 8).</summary>
    public const byte Version = 1;

    /// <summary>FCGI_HEADER_LEN: the bytes of a record header (sections 3.3 and 8).</summary>
    public const int HeaderLength = 8;

    /// <summary>The content of BEGIN_REQUEST, END_REQUEST and UNKNOWN_TYPE (sections 5.1, 5.5 and 4.2).</summary>
    public const int FixedBodyLength = 8;

    /// <summary>The most content that a record can carry: contentLength has 16 bits (section 3.3).</summary>
    public const int MaxContentLength = 65_535;

    /// <summary>The largest content that keeps the next record on an 8-byte boundary without padding (section 3.3 recommends it).</summary>
    public const int MaxAlignedContentLength = 65_528;

    /// <summary>FCGI_NULL_REQUEST_ID: the request id of management records (section 3.3).</summary>
    public const ushort NullRequestId = 0;

    /// <summary>FCGI_KEEP_CONN: the flag of BEGIN_REQUEST that leaves the connection to the web server (section 5.1).</summary>
    public const byte KeepConnectionFlag = 1;

    /// <summary>The most transport connections the server accepts at a time (section 4.1).</summary>
    public static ReadOnlySpan<byte> MaxConnectionsName => "FCGI_MAX_CONNS"u8;

    /// <summary>The most requests the server works on at a time (section 4.1).</summary>
    public static ReadOnlySpan<byte> MaxRequestsName => "FCGI_MAX_REQS"u8;

    /// <summary>Whether a connection may carry several requests at once (section 4.1).</summary>
    public static ReadOnlySpan<byte> MultiplexesConnectionsName => "FCGI_MPXS_CONNS"u8;
}
