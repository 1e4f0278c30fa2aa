namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>An ability that a case needs and some web servers lack; see <see cref="Shortcomings"/>.</summary>
public enum Ability
{
    /// <summary>A piece of an upload reaches the application even if it is small.</summary>
    SmallPieces,

    /// <summary>An upload without Content-Length, in HTTP/1.1 chunked.</summary>
    UploadOfUnknownLength,

    /// <summary>An upload without Content-Length, of any size.</summary>
    LargeUploadOfUnknownLength,

    /// <summary>The client sees a response that is sent before the upload has been read.</summary>
    EarlyAnswer,

    /// <summary>The header block reaches the client before any of the body exists.</summary>
    EarlyHeaders,

    /// <summary>The response header X-Accel-Buffering switches buffering off.</summary>
    BufferingHeader,

    /// <summary>The Content-Length of the application reaches the client.</summary>
    ContentLength,

    /// <summary>A disconnect is noticed while the application sends nothing.</summary>
    NoticedClient,

    /// <summary>An incomplete response without Content-Length is visibly cut.</summary>
    CutResponse,

    /// <summary>A target with escaped bytes that are not UTF-8.</summary>
    TargetThatIsNoText,

    /// <summary>The target reaches the application as the client wrote it.</summary>
    RawTarget,

    /// <summary>The application gets the client's own X-Forwarded-For.</summary>
    ForwardedHeaders,

    /// <summary>The web server passes the address that the client connected to.</summary>
    LocalAddress,

    /// <summary>A header with underscores does not reach the application as the header with hyphens.</summary>
    HyphensOnly,
}
